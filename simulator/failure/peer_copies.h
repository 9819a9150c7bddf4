// Checkpoints in the memory of other machines.
//
//   N machines, m copies of each shard in groups of m machines (m divides N), k machines lost at once:
//   P(every shard has a copy left) = 1 for k < m, else max(0, 1 - N C(N-m, k-m) / (m C(N, k)))
//
// A lower bound where several groups can go at once (k >= 2m), else exact. Source: Gemini, SOSP 2023, corollary 1.
#pragma once

#include <cstdint>

namespace trainyard::simulator {

// Throws Error where m doesn't divide N, or k > N.
double copies_survive(std::int64_t machines, std::int64_t copies, std::int64_t lost);

}  // namespace trainyard::simulator
