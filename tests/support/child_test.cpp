// That a forked process of a test ends with what holds it, and is waited for in spite of signals.
#include "tests/support/child.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

namespace trainyard {
namespace {

pid_t sleeping_child() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  return pid;
}

TEST(Child, IsKilledAndReapedWhenItIsForgotten) {
  const pid_t pid = sleeping_child();
  {
    const Child held(pid);
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);  // a zombie would still have its number
}

// A timer interrupts the wait several times while the child sleeps.
TEST(Child, IsWaitedForThroughSignals) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {};  // and no SA_RESTART: calls are interrupted
  ::sigaction(SIGALRM, &action, &before);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::usleep(100'000);
    ::_exit(3);
  }
  Child child(pid);
  const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 10'000}, .it_value = {.tv_sec = 0, .tv_usec = 10'000}};
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  const int status = child.wait();
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_FALSE(child.running());
}

TEST(Child, ThatCannotBeForkedIsNone) { EXPECT_THROW(Child(-1), std::runtime_error); }

}  // namespace
}  // namespace trainyard
