#include "simulator/failure/failure_profile.h"

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "core/plan/shipped.h"

namespace trainyard::simulator {
namespace {

constexpr double kDay = 86400.0;

double per_1000_node_days(const FailureProfile& profile) {
  double sum = 0.0;
  for (const PublishedFailure& failure : profile.failures) {
    EXPECT_EQ(failure.of, Exposure::kNode) << failure.name;
    sum += failure.rate.value.si() * 1000.0 * kDay;
  }
  return sum;
}

std::string shipped_text(std::string_view name) {
  for (const ShippedFile& file : shipped_failures()) {
    if (file.name == name) {
      return std::string(file.text);
    }
  }
  return {};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// "per 1000 node-days" is 1 / 86.4e6 s; a FIT is one in 10^9 h = 3.6e12 s; a month is 365.25 / 12 d.
TEST(FailureRate, ReadsWhatPeopleWrite) {
  EXPECT_DOUBLE_EQ(parse_failure_rate("3.79 per 1000 node-days", "t").each.si(), 3.79 / 86.4e6);
  EXPECT_DOUBLE_EQ(parse_failure_rate("0.87 per job-day", "t").each.si(), 0.87 / 86400.0);
  EXPECT_DOUBLE_EQ(parse_failure_rate("514 FIT per GPU", "t").each.si(), 514.0 / 3.6e12);
  EXPECT_DOUBLE_EQ(parse_failure_rate("0.00051 per switch-month", "t").each.si(), 0.00051 / (365.25 / 12.0 * 86400.0));
  EXPECT_EQ(parse_failure_rate("1 per GPU-hour", "t").of, Exposure::kGpu);
  EXPECT_EQ(parse_failure_rate("117 FIT per GB", "t").of, Exposure::kGigabyte);
}

TEST(FailureRate, RefusesWhatItIsNot) {
  for (const char* text : {"", "3.79", "3.79 per node", "-1 per node-day", "nan per node-day", "1 per 100 node-days",
                           "1 per node-fortnight", "1 FIT", "inf per node-day", "1 per node-day "}) {
    EXPECT_THROW(parse_failure_rate(text, "file#/rate"), Error) << text;
  }
}

// 419 unexpected interruptions in 54 days of 2,048 nodes are 3.789 per 1000 node-days (failures.md, section 2); RSC-1
// 6.5, RSC-2 2.34.
TEST(FailureProfile, ShippedOnesHaveThePublishedTotals) {
  EXPECT_NEAR(per_1000_node_days(open_failure_profile("llama3-h100")), 3.789, 0.004);
  EXPECT_NEAR(per_1000_node_days(open_failure_profile("rsc1-a100")), 6.5, 0.005);
  EXPECT_NEAR(per_1000_node_days(open_failure_profile("rsc2-a100")), 2.34, 0.005);
  const double immature = per_1000_node_days(open_failure_profile("immature"));
  EXPECT_GT(immature, 12.0);
  EXPECT_LT(immature, 22.0);
  EXPECT_EQ(per_1000_node_days(open_failure_profile("none")), 0.0);
}

TEST(FailureProfile, EveryShippedNumberHasARangeAroundItAndASource) {
  EXPECT_EQ(shipped_failures().size(), 5U);
  for (const ShippedFile& file : shipped_failures()) {
    const FailureProfile profile = parse_failure_profile(std::string(file.text), std::string(file.name));
    EXPECT_EQ(profile.name, file.name);
    for (const PublishedFailure& failure : profile.failures) {
      EXPECT_LE(failure.rate.low, failure.rate.value);
      EXPECT_GE(failure.rate.high, failure.rate.value);
      EXPECT_FALSE(failure.rate.source.empty());
    }
  }
}

TEST(FailureProfile, SaysWhereItIsWrong) {
  const std::string good = shipped_text("llama3-h100");
  ASSERT_FALSE(good.empty());
  const auto problem_at = [&](const std::string& from, const std::string& to) {
    try {
      parse_failure_profile(replaced(good, from, to), "p.json");
    } catch (const Error& error) {
      return error.where();
    }
    return std::string("read");
  };
  EXPECT_EQ(problem_at("\"repair\": \"gpu\"", "\"repair\": \"gpus\""), "p.json#/failures/0/repair");
  EXPECT_EQ(problem_at("\"value\": \"1.338 per 1000 node-days\"", "\"value\": 1.338"), "p.json#/failures/0/rate/value");
  EXPECT_EQ(problem_at("\"value\": \"1.338 per", "\"value\": \"9.9 per"), "p.json#/failures/0/rate/value");
  EXPECT_EQ(problem_at("\"zeroed\": 0.507", "\"zeroed\": 0.9"), "p.json#/corruption/values/zeroed");
  EXPECT_EQ(problem_at("\"gpus\": 10000", "\"gpus\": 2048"), "p.json#/recovery/communicator_init/1/gpus");
  EXPECT_EQ(problem_at("\"value\": \"600 s\"", "\"value\": \"0 s\""), "p.json#/recovery/hang_timeout/value");
  EXPECT_EQ(problem_at("\"refault\"", "\"refaults\""), "p.json");  // missing, and the misspelt one unknown
  EXPECT_EQ(problem_at("\"takes_down\": \"leaf\"", "\"takes_down\": \"spine\""), "p.json#/failures/4/takes_down");
}

TEST(FailureProfile, AnUnknownNameIsAnErrorWithTheNearest) {
  try {
    open_failure_profile("llama3-h10");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "--failures");
    EXPECT_NE(error.hint().find("llama3-h100"), std::string::npos);
  }
}

}  // namespace
}  // namespace trainyard::simulator
