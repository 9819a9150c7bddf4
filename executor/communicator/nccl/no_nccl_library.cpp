// In place of nccl_library.cpp where nccl.h was not found.
#include "core/error.h"
#include "executor/communicator/nccl/nccl_library.h"

namespace trainyard::executor {

std::optional<int> nccl_header_version() { return std::nullopt; }

std::shared_ptr<NcclApi> open_nccl() {
  throw Error("this program was built without NCCL", "communicator",
              "install nccl.h (NVIDIA's libnccl-dev, 2.27 or later) and the CUDA toolkit, and build again");
}

}  // namespace trainyard::executor
