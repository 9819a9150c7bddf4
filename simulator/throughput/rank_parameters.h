// Parameters that one rank of a stage holds before ZeRO shards them, to the precision that communication needs:
// products' weights, without norms and biases.
#pragma once

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "simulator/throughput/update_time.h"

namespace trainyard::simulator {

RankParameters rank_parameters(const ModelSpec& model, const Layout& layout, int dense_layers, int expert_layers,
                               bool embeds, bool has_head);

}  // namespace trainyard::simulator
