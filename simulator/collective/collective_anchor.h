// A user's own nccl-tests log as an anchor: the curve of that system refitted to it, with a narrower band.
//
// The class's shipped constants are the prior, so a log of a few sizes moves what it measured and leaves the rest.
// The anchor speaks for questions of its system: same accelerator, nodes, ranks and operation (system_key()).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "simulator/collective/collective_models.h"
#include "simulator/collective/nccl_tests_log.h"

namespace trainyard::simulator {

struct CollectiveAnchor {
  std::string key;  // of the system it speaks for
  CurveTable table;
};

// "h100: 2 nodes, 16 ranks, all_reduce, rdma/tree".
std::string system_key(const CollectiveSite& site, CollectiveOp op, const std::string& curve_class);

// `hardware` describes what the log doesn't say (NICs, fabric), as in hardware_text.h; empty: the device's usual
// server. Several logs of one system make one anchor. Throws Error where the hardware isn't recognised.
std::vector<CollectiveAnchor> make_anchors(const std::vector<NcclTestsLog>& logs, const std::string& hardware,
                                           const CollectiveModels& models);

// The table to use for a system: its anchor's, or the shipped one.
const CurveTable& table_for(const std::vector<CollectiveAnchor>& anchors, const CurveTable& shipped,
                            const std::string& key);

}  // namespace trainyard::simulator
