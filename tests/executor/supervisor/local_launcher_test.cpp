// Ranks as processes: how their ends are noticed, and that nothing is left behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/error.h"
#include "executor/supervisor/find_program.h"
#include "executor/supervisor/local_launcher.h"
#include "executor/supervisor/signal_relay.h"
#include "tests/support/child.h"

namespace trainyard::executor {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

LaunchOptions launching(int ranks, std::vector<std::string> arguments) {
  LaunchOptions options;
  options.command = {TRAINYARD_TEST_RANK};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  options.ranks = ranks;
  return options;
}

bool any_line_contains(const std::vector<std::string>& lines, const std::string& text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

std::vector<pid_t> pids_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istream_iterator<pid_t>(in), {}};
}

// Running, and not a zombie that some parent has yet to reap.
bool alive(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(status, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.at(name_end + 2) != 'Z' && text.at(name_end + 2) != 'X';
}

template <class Condition>
bool comes_true(Condition condition, milliseconds limit) {
  const auto begin = Clock::now();
  while (!condition()) {
    if (Clock::now() - begin > limit) {
      return false;
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

std::filesystem::path fresh_file(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() / (name + "." + std::to_string(::getpid()));
  std::filesystem::remove(path);
  return path;
}

TEST(LocalLauncher, a_job_that_ends_well_says_so_and_passes_on_output) {
  LaunchOptions options = launching(3, {"ok"});
  std::vector<std::string> output(3);
  options.on_output = [&](int rank, OutputStream stream, std::string_view bytes) {
    EXPECT_EQ(stream, OutputStream::kOut);
    output[static_cast<std::size_t>(rank)] += bytes;
  };
  const LaunchResult result = launch_local(options);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.exits, std::vector<std::string>(3, "exited with 0"));
  EXPECT_EQ(output, (std::vector<std::string>{"rank 0 of 3\n", "rank 1 of 3\n", "rank 2 of 3\n"}));
}

TEST(LocalLauncher, an_exit_status_is_the_cause_with_the_ranks_last_lines) {
  const LaunchResult result = launch_local(launching(2, {"exit", "3"}));
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->rank, 1);
  EXPECT_EQ(result.failure->cause, "exited with 3");
  EXPECT_EQ(result.failure->last_lines, (std::vector<std::string>{"something is wrong", "and this is the last line"}));
  EXPECT_EQ(result.exits[0], "killed by signal 15 (SIGTERM)");
}

TEST(LocalLauncher, a_rank_that_ended_for_another_is_not_the_cause_though_it_ends_first) {
  LaunchOptions options = launching(2, {"cause"});
  options.consequence_exit = 3;
  options.terminate_after = milliseconds(5000);
  const LaunchResult result = launch_local(options);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->rank, 0);
  EXPECT_EQ(result.failure->cause, "exited with 2");
  EXPECT_EQ(result.failure->last_lines, std::vector<std::string>{"the disk is full"});
  EXPECT_EQ(result.exits[1], "exited with 3");
}

TEST(SignalRelay, takes_a_hangup_unless_it_was_ignored_as_under_nohup) {
  const auto before = ::signal(SIGHUP, SIG_DFL);
  {
    SignalRelay relay;
    ::raise(SIGHUP);
    EXPECT_EQ(relay.take(), SIGHUP);
  }
  ::signal(SIGHUP, SIG_IGN);
  {
    SignalRelay relay;
    ::raise(SIGHUP);
    EXPECT_EQ(relay.take(), std::nullopt);
  }
  ::signal(SIGHUP, before);
}

TEST(LocalLauncher, ranks_that_ignore_sigterm_are_killed) {
  const LaunchResult result = launch_local(launching(3, {"stubborn"}));
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->rank, 1);
  EXPECT_EQ(result.exits[0], "killed by signal 9 (SIGKILL)");
  EXPECT_LT(result.ending, milliseconds(2000));
}

TEST(LocalLauncher, a_rank_killed_in_a_collective_ends_the_job_under_2_s) {
  LaunchOptions options = launching(4, {"rank1-dies"});
  options.terminate_after = milliseconds(1500);  // so that a busy machine does not cut the others short
  const LaunchResult result = launch_local(options);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->rank, 1);
  EXPECT_EQ(result.failure->cause, "killed by signal 9 (SIGKILL)");
  EXPECT_TRUE(any_line_contains(result.failure->last_lines, "rank 1 at step 20"));
  EXPECT_EQ(result.exits[0], "exited with 4");  // released by a lost peer or by the abort key
  EXPECT_LT(result.ending, milliseconds(2000));
}

TEST(LocalLauncher, a_stopped_rank_is_found_by_its_heartbeat_and_the_others_are_released) {
  LaunchOptions options = launching(3, {"rank1-stops"});
  options.heartbeat_timeout = milliseconds(2000);
  options.terminate_after = milliseconds(1000);
  std::string said_by_2;
  options.on_output = [&](int rank, OutputStream, std::string_view bytes) {
    if (rank == 2) {
      said_by_2 += bytes;
    }
  };
  const LaunchResult result = launch_local(options);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->rank, 1);
  EXPECT_EQ(result.failure->cause, "no heartbeat for 2000 ms");
  EXPECT_EQ(result.exits[0], "exited with 4");
  EXPECT_EQ(result.exits[1], "killed by signal 9 (SIGKILL)");
  EXPECT_NE(said_by_2.find("rank 1 no heartbeat"), std::string::npos) << said_by_2;
  EXPECT_LT(result.ending, milliseconds(2000));
}

// Every rank stands still, for the others wait for rank 1; it alone waits for none.
TEST(LocalLauncher, a_rank_that_hangs_alive_is_found_by_its_progress) {
  LaunchOptions options = launching(3, {"rank1-hangs"});
  options.hang_timeout = milliseconds(1000);
  options.heartbeat_timeout = milliseconds(20000);
  options.terminate_after = milliseconds(1000);
  const LaunchResult result = launch_local(options);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->rank, 1);
  EXPECT_EQ(result.failure->cause, "no progress for 1000 ms, though its process is alive");
  EXPECT_EQ(result.failure->step, 21);
  EXPECT_GE(result.failure->detection, milliseconds(1000));
  EXPECT_LT(result.failure->detection, milliseconds(3000));
  EXPECT_EQ(result.exits[0], "exited with 4");
}

TEST(LocalLauncher, kills_on_purpose_and_knows_how_long_it_took_to_notice) {
  KillClock kills(from_si<Seconds>(0.2), 5, 1);
  LaunchOptions options = launching(2, {"sleep", fresh_file("trainyard_kills").string()});
  options.kills = &kills;
  int killed = -1;
  options.on_kill = [&](int rank) { killed = rank; };
  const LaunchResult result = launch_local(options);
  std::filesystem::remove(options.command[2]);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->rank, killed);
  EXPECT_EQ(result.failure->cause, "killed by signal 9 (SIGKILL)");
  ASSERT_TRUE(result.failure->detection);
  EXPECT_LT(*result.failure->detection, milliseconds(1000));
  EXPECT_EQ(kills.taken(), 1);
  EXPECT_FALSE(kills.next());
}

// 20,000 exponential times of mean m: their mean is within 3 standard errors, 3 m / sqrt(20000), their standard
// deviation within 5 % of m, and each of 4 ranks gets a quarter within 3 sqrt(n p q).
TEST(KillClock, strikes_at_exponential_times_and_spares_no_rank) {
  constexpr int kKills = 20000;
  KillClock clock(from_si<Seconds>(2.0), 7, kKills);
  KillClock same(from_si<Seconds>(2.0), 7, kKills);
  KillClock::Clock::time_point last = *clock.next();
  const KillClock::Clock::duration offset = *same.next() - last;
  double sum = 0;
  double squares = 0;
  std::array<int, 4> struck{};
  for (int i = 0; i + 1 < kKills; ++i) {
    const int rank = clock.take(4);
    EXPECT_EQ(same.take(4), rank);
    ++struck[static_cast<std::size_t>(rank)];
    const KillClock::Clock::time_point next = clock.next().value();
    EXPECT_EQ(*same.next() - next, offset) << "the same seed, the same times";
    const double gap = std::chrono::duration<double>(next - last).count();
    sum += gap;
    squares += gap * gap;
    last = next;
  }
  const double mean = sum / (kKills - 1);
  EXPECT_NEAR(mean, 2.0, 3 * 2.0 / std::sqrt(kKills));
  EXPECT_NEAR(std::sqrt(squares / (kKills - 1) - mean * mean), 2.0, 0.1);
  for (const int count : struck) {
    EXPECT_NEAR(count, kKills / 4, 3 * std::sqrt(kKills * 0.25 * 0.75));
  }
}

TEST(LocalLauncher, a_program_that_is_not_there_is_an_error_with_its_name) {
  LaunchOptions options;
  options.command = {"/no/such/program"};
  try {
    launch_local(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.problem().find("/no/such/program"), std::string::npos);
  }
}

TEST(LocalLauncher, a_program_is_found_by_its_name_in_the_path) {
  const auto folder = fresh_file("trainyard_programs");
  std::filesystem::create_directories(folder / "empty");
  std::ofstream(folder / "starter") << "#!/bin/sh\n";
  const std::string path = (folder / "empty").string() + ":" + folder.string();
  EXPECT_FALSE(find_program("starter", path)) << "it isn't executable";
  std::filesystem::permissions(folder / "starter", std::filesystem::perms::owner_all);
  EXPECT_EQ(find_program("starter", path), (folder / "starter").string());
  EXPECT_FALSE(find_program("empty", path)) << "a folder is no program";
  EXPECT_EQ(find_program("./starter", path), "./starter");
  std::filesystem::remove_all(folder);
  LaunchOptions options;
  options.command = {"true"};
  EXPECT_TRUE(launch_local(options).ok());
}

class LauncherProcess : public testing::TestWithParam<int> {};

// The launcher, in a process of its own, gets SIGKILL (no chance to act), SIGINT or SIGTERM.
TEST_P(LauncherProcess, leaves_no_rank_behind_when_signalled) {
  const auto file = fresh_file("trainyard_pids");
  const pid_t forked = ::fork();
  if (forked == 0) {
    ::execl(TRAINYARD_TEST_RANK, TRAINYARD_TEST_RANK, "launch", file.c_str(), "3", nullptr);
    ::_exit(127);
  }
  Child launcher(forked);
  ASSERT_TRUE(comes_true([&] { return pids_in(file).size() == 3; }, milliseconds(5000)));
  const std::vector<pid_t> ranks = pids_in(file);
  ::kill(launcher.pid(), GetParam());
  const int status = launcher.wait();
  EXPECT_EQ(WIFSIGNALED(status), GetParam() == SIGKILL);  // else it ended by itself, with 1
  EXPECT_TRUE(comes_true([&] { return std::none_of(ranks.begin(), ranks.end(), alive); }, milliseconds(2000)));
  std::filesystem::remove(file);
}

INSTANTIATE_TEST_SUITE_P(Signals, LauncherProcess, testing::Values(SIGKILL, SIGINT, SIGTERM),
                         [](const auto& tested) { return std::string(::sigabbrev_np(tested.param)); });

}  // namespace
}  // namespace trainyard::executor
