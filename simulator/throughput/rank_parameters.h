// Parameters that one rank of a stage holds before ZeRO shards them, to the precision that communication needs:
// products' weights, without norms and biases.
#pragma once

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "simulator/throughput/update_time.h"

namespace trainyard::simulator {

RankParameters rank_parameters(const ModelSpec& model, const Layout& layout, int dense_layers, int expert_layers,
                               bool embeds, bool has_head);

// Of a multi-token block's product; and of the copy of the embedding's table that the last stage holds, 0 where none
// does.
double merge_parameters(const ModelSpec& model, const Layout& layout);
double copied_table(const ModelSpec& model, const Layout& layout);

}  // namespace trainyard::simulator
