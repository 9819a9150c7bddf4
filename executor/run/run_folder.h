// RunFolder: a run's folder, held by one launcher at a time.
//
// The lock is the system's on the folder itself (flock): it leaves no file behind and goes with the process,
// however that ends. A file system without locks is used without one.
#pragma once

#include <cstdint>

#include "executor/run/run_files.h"
#include "executor/supervisor/file_descriptor.h"

namespace trainyard::executor {

enum class FolderUse : std::uint8_t {
  kNew,              // it must be new or empty
  kReplace,          // an earlier run's files are removed, and nothing else that lies there
  kContinue,         // an earlier run's must be there, and stay
  kContinueOrBegin,  // an earlier run's stay; without one as kNew, but for the plan of a start that failed
};

class RunFolder {
 public:
  // Makes the folder where there is none, but for kContinue. Throws Error: another run is at work in it; it isn't empty
  // and nothing is to be replaced; what is in it is no run; it can't be made or written.
  RunFolder(const RunFiles& files, FolderUse use);

 private:
  FileDescriptor lock_;
};

}  // namespace trainyard::executor
