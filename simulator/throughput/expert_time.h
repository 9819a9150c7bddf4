// Tokens that leave for experts on other nodes.
//
//   share = N (1 - (1 - 1/N)^k) / k       of a token's k copies, over N nodes: experts on one node share a copy
// Source: DeepSeek-V3, section 3.2 (node-limited dispatch; here the mean of even routing).
#pragma once

#include "core/model/model_spec.h"
#include "simulator/throughput/machine_rates.h"

namespace trainyard::simulator {

// Bytes moved per element of an expert's activation, forward; backward twice. Experts with biases and clamped
// activations (GPT-OSS) in 16 bits: a kernel per step, in fp32.
double expert_activation_bytes(const ModelSpec& model, const MachineRates& rates);

double distinct_nodes_share(double experts_per_token, double nodes);

}  // namespace trainyard::simulator
