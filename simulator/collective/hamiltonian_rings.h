// Rings that NCCL finds on GPUs without a switch between them: V100 machines of the DGX-1 kind.
//
// rings = 2 x the most edge-disjoint Hamiltonian cycles of the NVLink multigraph over the first n GPUs (each cycle is
// used both ways round); two GPUs: one ring for each link between them. n = 2...8 of a DGX-1V: 1, 2, 4, none, 2, 4, 6.
// Source: `nvidia-smi topo -m` of a DGX-1V, in NVIDIA's DGX-1 user guide; at 22.5 GB/s a ring, 2, 3 and 6 GPUs check
// to 2 % against vTrain's V100 tables (VIA-Research/vTrain, trace/v100).
#pragma once

#include <vector>

namespace trainyard::simulator {

// links[i][j]: NVLinks between GPU i and GPU j, symmetric; at most 8 GPUs. No cycle: 0.
int edge_disjoint_cycles(const std::vector<std::vector<int>>& links);

// NVLinks between the first n GPUs of a DGX-1V, 2 <= n <= 8.
std::vector<std::vector<int>> cube_mesh_links(int gpus);

// Directed rings over the first n GPUs of a DGX-1V, 2 <= n <= 8; 0: the data must cross PCIe.
int cube_mesh_rings(int gpus);

}  // namespace trainyard::simulator
