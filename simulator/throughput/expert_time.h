// Tokens that leave for experts on other nodes.
//
//   share = N (1 - (1 - 1/N)^k) / k       of a token's k copies, over N nodes: experts on one node share a copy
// Source: DeepSeek-V3, section 3.2 (node-limited dispatch; here the mean of even routing).
#pragma once

namespace trainyard::simulator {

double distinct_nodes_share(double experts_per_token, double nodes);

}  // namespace trainyard::simulator
