// The output of an nccl-tests (or rccl-tests) program, of old and new versions, as it comes from mpirun too.
//
//   #  Rank  0 Group  0 Pid 1006102 on pool0-01806 device  0 [0000:19:00] NVIDIA H100 80GB HBM3
//   #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw
//   #wrong
//       1048576        262144     float     sum      -1    27.37   38.31   67.04      0    26.93   38.94   68.14      0
// Kept of a row: size and out-of-place time. Anything that isn't a row or a rank line is passed over.
// The program is not named in most logs. It follows from busbw/algbw, whether there is a root and a reduction, and
// where two remain (all-gather and all-to-all) from words in the log or in its file name.
// Source: nccl-tests src/common.cu (formats since 2.0), doc/PERFORMANCE.md (busbw).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units/quantity.h"
#include "simulator/collective/nccl_names.h"

namespace trainyard::simulator {

struct NcclTestsRow {
  Bytes size;
  Seconds time;
};

struct NcclTestsLog {
  std::string name;  // of the file, without its folder
  CollectiveOp op = CollectiveOp::kAllReduce;
  int ranks = 0;
  std::optional<int> nodes;        // distinct host names of the rank lines
  std::string device;              // of rank 0: "NVIDIA H100 80GB HBM3"; empty where there are no rank lines
  std::vector<NcclTestsRow> rows;  // size > 0 and time > 0, by size
};

// Throws Error for a log without rows, and one whose operation or number of ranks can't be told.
NcclTestsLog parse_nccl_tests_log(const std::string& text, const std::string& where);

}  // namespace trainyard::simulator
