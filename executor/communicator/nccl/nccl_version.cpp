#include "executor/communicator/nccl/nccl_version.h"

#include "core/error.h"

namespace trainyard::executor {

namespace {

constexpr int kOldest = 22700;

bool hangs_in_abort(int version) { return version == 22501 || (version >= 22803 && version <= 22808); }

}  // namespace

std::string nccl_version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void require_nccl_version(int version, const std::string& where) {
  const std::string name = "NCCL " + nccl_version_text(version);
  if (hangs_in_abort(version)) {
    throw Error(name + " may hang when a communicator is aborted, so a failed run could not end", where,
                "take 2.27, or 2.28.9 and later");
  }
  if (version < kOldest) {
    throw Error(name + " is too old", where,
                "take " + nccl_version_text(kOldest) + " or later, but not 2.28.3 to 2.28.8");
  }
}

}  // namespace trainyard::executor
