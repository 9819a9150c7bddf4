#include "simulator/throughput/elementwise_time.h"

namespace trainyard::simulator {

double elementwise_bytes(const ElementwiseWork& work) {
  const double residual = (work.fused ? 14.0 : 22.0) * work.norm_tokens * work.hidden;
  const double projection = (work.fused ? 4.0 : 8.0) * work.tokens * work.projected;
  const double per_activation = work.gated ? (work.fused ? 6.0 : 10.0) : (work.fused ? 4.0 : 8.0);
  return residual + projection + per_activation * work.tokens * work.feed_forward;
}

double loss_bytes_per_logit(bool fused) { return fused ? 9.0 : 20.0; }

}  // namespace trainyard::simulator
