// Direct: every pair of ranks exchanges its own data. All-to-all, and send/receive between neighbours in rank order.
//
//   steps   1
//   bytes   all-to-all: S/n from each rank to each other one: S (n-1)/n sent by each
//           send/receive: S from each rank to the next one, as nccl-tests' sendrecv
//
// Between nodes a message leaves by its sender's NIC and arrives at its receiver's: ranks of different rails meet in
// the spine. With PXN it first crosses NVLink to the member of the sender's node on the receiver's rail, which sends
// what all members of the node have for that receiver as one message: it stays on the rail, in m times fewer flows. A
// group with more than 2^16 pairs of ends is represented by node distances spread evenly, with the others' bytes; then
// notes say so. Source: NCCL 2.12 release notes (PXN); NVIDIA/nccl#918.
#pragma once

#include "simulator/collective/algorithms/collective_flows.h"

namespace trainyard::simulator {

void add_all_to_all(FlowWriter& writer, const GroupLayout& layout, double size);
void add_send_receive(FlowWriter& writer, const GroupLayout& layout, double size);

}  // namespace trainyard::simulator
