// Which versions of NCCL we work with.
//
// From 2.27: the first whose communicators are aborted in one group, shrunk and registered by the calls we use and that
// we build against. Refused by name, for an abort may hang in them: 2.25.1 (PyTorch issue 149153), 2.28.3 to 2.28.8
// (NVIDIA's NVRx refuses them for in-process restart; fixed in 2.28.9).
#pragma once

#include <string>

namespace trainyard::executor {

std::string nccl_version_text(int version);  // 22809 -> "2.28.9"

// Throws Error that says what is wrong with the version and which to take. `where`: the library's file.
void require_nccl_version(int version, const std::string& where);

}  // namespace trainyard::executor
