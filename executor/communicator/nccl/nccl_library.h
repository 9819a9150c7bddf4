// The NCCL library of this machine, opened when it is first needed.
//
// The program is compiled against nccl.h where that is found and never linked with the library, so that it starts where
// there is no NCCL and one GPU needs none. Looked for: TRAINYARD_NCCL_LIBRARY (a file), then libnccl.so.2 as the loader
// finds it, then where the build found it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "executor/communicator/nccl/nccl_api.h"

namespace trainyard::executor {

// The version of nccl.h that this program was compiled against; nothing where none was found.
std::optional<int> nccl_header_version();

// Throws Error where the program was built without NCCL, where no library is found, or where it lacks a function.
std::shared_ptr<NcclApi> open_nccl();

}  // namespace trainyard::executor
