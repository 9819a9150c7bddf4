#include "executor/device/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "core/error.h"
#include "tests/support/error_of.h"

namespace trainyard::executor {
namespace {

// Lets this process map a little more memory than it has now, as `ulimit -v` does: too little for many stacks.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(rlim_t more) {
    ::getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit limit{pages * 4096 + more, before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~AddressSpaceLimit() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST(ThreadPool, MoreThreadsThanTheSystemHasRoomForAreAnErrorAndEndAgain) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve more address space than there is";
#endif
  const Error error = error_of([] {
    const AddressSpaceLimit limit(rlim_t{64} << 20);
    const ThreadPool pool(1000);
  });
  EXPECT_EQ(error.where(), "--threads");
  EXPECT_TRUE(contains(error.problem(), "1000 threads")) << error.what();
}

}  // namespace
}  // namespace trainyard::executor
