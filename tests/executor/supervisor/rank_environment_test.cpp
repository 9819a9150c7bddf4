#include <gtest/gtest.h>

#include <cstdlib>

#include "core/error.h"
#include "executor/supervisor/line_tail.h"
#include "executor/supervisor/rank_environment.h"

namespace trainyard::executor {
namespace {

void apply(const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }
}

TEST(RankEnvironment, what_the_launcher_writes_the_rank_reads) {
  ::unsetenv("TRAINYARD_RANK");
  EXPECT_FALSE(rank_environment());
  apply(to_environment({.rank = 2,
                        .size = 4,
                        .local_rank = 1,
                        .local_size = 2,
                        .store = {"127.0.0.1", 4711, "abc"},
                        .prefix = "job/3/"}));
  const RankEnvironment read = rank_environment().value();
  EXPECT_EQ(read.rank, 2);
  EXPECT_EQ(read.size, 4);
  EXPECT_EQ(read.local_rank, 1);
  EXPECT_EQ(read.local_size, 2);
  EXPECT_EQ(read.store.host, "127.0.0.1");
  EXPECT_EQ(read.store.port, 4711);
  EXPECT_EQ(read.store.token, "abc");
  EXPECT_EQ(read.prefix, "job/3/");
  ::unsetenv("TRAINYARD_RANK");
}

TEST(RankEnvironment, a_wrong_variable_is_named) {
  for (const auto& [name, value] : {std::pair{"TRAINYARD_RANK", "4"},
                                    {"TRAINYARD_SIZE", "many"},
                                    {"TRAINYARD_STORE", "127.0.0.1"},
                                    {"TRAINYARD_LOCAL_RANK", "-1"}}) {
    apply(to_environment({.rank = 2,
                          .size = 4,
                          .local_rank = 1,
                          .local_size = 2,
                          .store = {"127.0.0.1", 4711, "abc"},
                          .prefix = "job/3/"}));
    ::setenv(name, value, 1);
    try {
      rank_environment();
      ADD_FAILURE() << name << "=" << value;
    } catch (const Error& error) {
      EXPECT_NE(error.problem().find(name), std::string::npos) << error.what();
    }
  }
  ::unsetenv("TRAINYARD_RANK");
}

TEST(LineTail, keeps_the_last_20_lines_and_replaces_at_carriage_returns) {
  LineTail tail;
  for (int i = 0; i < 30; ++i) {
    tail.append("line " + std::to_string(i) + "\r\n");
  }
  ASSERT_EQ(tail.lines().size(), 20U);
  EXPECT_EQ(tail.lines().front(), "line 10");
  tail.append("10 %\r20 ");
  tail.append("%\r30 %");
  EXPECT_EQ(tail.lines().back(), "30 %");
  EXPECT_EQ(tail.lines().size(), 20U);
}

}  // namespace
}  // namespace trainyard::executor
