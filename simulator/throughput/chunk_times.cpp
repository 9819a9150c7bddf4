// Chunks of a layout and the times of their passes: what each holds, what ZeRO moves beside, and what is left to
// reduce.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/layout/shard_spec.h"
#include "core/schedule/schedule.h"
#include "simulator/throughput/pipeline_time.h"
#include "simulator/throughput/rank_parameters.h"
#include "simulator/throughput/step_model_impl.h"

namespace trainyard::simulator {

void StepModel::Impl::deal_layers(const Layout& layout) {
  const int per_stage = chunks_of(layout);
  const ScheduleKind schedule = layout.pipeline > 1 ? layout.schedule : ScheduleKind::k1f1b;
  const int parts = model_chunks(schedule, layout.pipeline, per_stage);
  const std::int64_t layers = workload.model.layers;
  starts.assign(1, 0);
  for (int part = 0; part < parts; ++part) {
    starts.push_back(layout.chunk_layers.empty()
                         ? even_range(layers, parts, part).end
                         : std::min(starts.back() + layout.chunk_layers.at(static_cast<std::size_t>(part)), layers));
  }
  chunks.assign(static_cast<std::size_t>(layout.pipeline) * static_cast<std::size_t>(per_stage), Chunk{});
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const auto at = static_cast<int>(i);
    const int part = model_chunk(schedule, layout.pipeline, {at / per_stage, at % per_stage});
    const auto first = static_cast<std::size_t>(part);
    const KindCounts& low = before.at(static_cast<std::size_t>(starts[first]));
    const KindCounts& high = before.at(static_cast<std::size_t>(starts[first + 1]));
    Chunk& chunk = chunks[i];
    for (std::size_t kind = 0; kind < kLayerKinds; ++kind) {
      chunk.layers[kind] = high[kind] - low[kind];
    }
    chunk.embeds = part == 0;
    chunk.has_head = part == parts - 1;
    chunk.transfers = layout.pipeline > 1 ? 2.0 : 0.0;
    const double held = static_cast<double>(starts[first + 1] - starts[first]);
    const double every = layout.recompute == Recompute::kFull ? layout.recompute_every : 1.0;
    chunk.repeated = held > 0.0 ? std::ceil(held / every) * every / held : 1.0;
    chunk.blocks = chunk.has_head ? static_cast<int>(workload.model.multi_token_layers) : 0;
  }
  repeated_block = layout.recompute == Recompute::kFull ? layout.recompute_every : 1.0;
}

namespace {

// Compute and communication side by side (update_time.h).
double beside(double compute, double communication, double left) {
  return std::max(compute, communication) + left * std::min(compute, communication);
}

void add(DataTime& sum, const DataTime& time, double count) {
  sum.gather += count * time.gather;
  sum.reduce += count * time.reduce;
  sum.replicate += count * time.replicate;
}

}  // namespace

void StepModel::Impl::price_chunks(const Layout& layout, const LayerCosts& found, const DataTimes& times) {
  passes.clear();
  for (Chunk& chunk : chunks) {
    Passes spent;
    for (std::size_t kind = 0; kind < kLayerKinds; ++kind) {
      if (chunk.layers[kind] > 0) {
        spent.add(found.layer[kind], chunk.layers[kind], chunk.repeated);
        add(chunk.data, times.layer[kind & 1U], chunk.layers[kind]);
        chunk.last = times.layer[kind & 1U].reduce;
        chunk.first_gather = times.layer[kind & 1U].gather;
      }
    }
    if (chunk.has_head) {
      spent.add(found.head, 1.0);
      add(chunk.data, times.table, 1.0);
      add_blocks(layout, found, times, spent, chunk);
    }
    if (chunk.embeds) {
      spent.add(found.embedding, 1.0);
      add(chunk.data, times.table, chunk.has_head && workload.model.tied_embeddings ? 0.0 : 1.0);
      chunk.last = times.table.reduce;
    }
    chunk.compute = {spent.forward.si(), spent.input.si(), spent.weight.si()};
    chunk.with_data = chunk.compute;
  }
  scatters_wait = layout.zero_stage == 2 && layout.pipeline > 1 && scattering_holds_up(layout);
  for (Chunk& chunk : chunks) {
    if (layout.zero_stage == 2) {
      scatter_beside(layout, found, times, chunk);
    } else if (layout.zero_stage == 3) {
      move_beside(layout, times, chunk);
    }
    chunk.with_data.forward += chunk.transfers * waited;
    chunk.with_data.input += chunk.transfers * waited;
    passes.push_back(chunk.with_data);
  }
  if (layout.zero_stage < 2 && layout.overlap_gradient_reduce) {
    slow_last_backwards(layout);
  }
}

// Multi-token blocks: an embedding, a product, a layer and a head each. ZeRO 3 gathers the table for the embedding, and
// once more for the head, forward; backward the head's is still there.
void StepModel::Impl::add_blocks(const Layout& layout, const LayerCosts& found, const DataTimes& times, Passes& spent,
                                 Chunk& chunk) const {
  if (chunk.blocks == 0) {
    return;
  }
  spent.add(found.layer[extra_kind], chunk.blocks, repeated_block);
  spent.add(found.merge, chunk.blocks);
  spent.add(found.embedding, chunk.blocks);
  spent.add(found.head, chunk.blocks);
  add(chunk.data, times.layer[extra_kind & 1U], chunk.blocks);
  add(chunk.data, times.merge, chunk.blocks);
  chunk.data.gather += chunk.blocks * times.table.gather;
  // The embedding's gradients: a copy's, or under ZeRO 2 and 3 this pass's of a table that another chunk begins with.
  const bool own = copied_table(workload.model, layout) > 0.0 || layout.zero_stage >= 2;
  if (own && !chunk.embeds && !workload.model.tied_embeddings) {
    chunk.data.reduce += times.table.reduce;
    chunk.data.replicate += times.table.replicate;
  }
}

// Gradients that are on their way beside a chunk's last backward slow it.
void StepModel::Impl::slow_last_backwards(const Layout& layout) {
  const bool apart = weights_apart(layout);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const Chunk& chunk = chunks[i];
    const double backward = (apart ? 0.0 : chunk.compute.input) + chunk.compute.weight;
    const double moving = (chunk.data.reduce + chunk.data.replicate).si() - chunk.last.si();
    passes[i].last = unhidden.weight * std::min(backward, std::max(0.0, moving));
  }
}

// Some chunk's layers take longer to scatter than their backward, or all of it nearly as long as all of its passes.
bool StepModel::Impl::scattering_holds_up(const Layout& layout) const {
  constexpr double kNearly = 0.8;
  const bool apart = weights_apart(layout);
  return std::any_of(chunks.begin(), chunks.end(), [&](const Chunk& chunk) {
    const double backward = chunk.compute.weight + (apart ? 0.0 : chunk.compute.input);
    const double scattered = chunk.data.reduce.si();
    return scattered > backward || chunk.last.si() > backward / chunk.parts() ||
           scattered > kNearly * chunk.compute.sum();
  });
}

// ZeRO 2 scatters a chunk's gradients beside its passes, which makes both slower. Two buffers let what is left at a
// backward's end go on beside the passes behind it: the last part's, and of the one before it what that took longer
// than its compute. One stage's next backward waits for the rest; a pipeline's turns show what waits (pipeline_play.h).
void StepModel::Impl::scatter_beside(const Layout& layout, const LayerCosts& found, const DataTimes& times,
                                     Chunk& chunk) const {
  PassTimes& pass = chunk.with_data;
  const bool apart = weights_apart(layout);
  const double backward = pass.weight + (apart ? 0.0 : pass.input);
  const double scattered = chunk.data.reduce.si();
  const double last = chunk.last.si();
  const double in_backward = std::min(scattered, backward);
  const double behind = std::min(scattered - in_backward, last + std::max(0.0, last - backward / chunk.parts()));
  const double in_forward = std::min(behind, pass.forward);
  pass.scattering = scatters_wait ? scattering(chunk, found, times, apart) : Scattering();
  if (pass.scattering.layers > 0.0) {
    chunk.slowed = unhidden.weight * in_backward + unhidden.forward * in_forward;
    return;
  }
  pass.weight += unhidden.weight * in_backward + scattered - in_backward - in_forward;
  pass.forward += unhidden.forward * in_forward;
}

Scattering StepModel::Impl::scattering(const Chunk& chunk, const LayerCosts& found, const DataTimes& times,
                                       bool apart) const {
  const auto pass_of = [&](const LayerTime& part) { return (part.weight + (apart ? Seconds() : part.input)).si(); };
  Scattering parts;
  parts.layers = std::accumulate(chunk.layers.begin(), chunk.layers.end(), static_cast<double>(chunk.blocks));
  if (parts.layers == 0.0) {
    return {};
  }
  if (chunk.has_head) {
    parts.head = times.table.reduce.si();
    parts.head_pass = pass_of(found.head);
  }
  if (chunk.embeds && !(chunk.has_head && workload.model.tied_embeddings)) {
    parts.embedding = times.table.reduce.si();
    parts.embedding_pass = pass_of(found.embedding);
  }
  parts.layer = (chunk.data.reduce.si() - parts.head - parts.embedding) / parts.layers;
  parts.slows_forward = unhidden.forward;
  parts.slows_input = unhidden.backward;
  parts.slows_weight = unhidden.weight;
  return parts;
}

// ZeRO 3 beside a chunk's passes. A pass's first gather is beside nothing, and comes behind what the
// backward before has left to scatter: before a forward, or under GPipe before the next backward.
void StepModel::Impl::move_beside(const Layout& layout, const DataTimes& times, Chunk& chunk) const {
  const double table = times.table.gather.si();
  const double all = chunk.data.gather.si();
  const double tail = std::min(chunk.data.reduce, chunk.last).si();
  const double scattered = chunk.data.reduce.si() - tail;
  const double first = chunk.embeds ? table : chunk.first_gather.si();
  const double first_back = chunk.has_head ? table : chunk.first_gather.si();
  const double back = std::max(0.0, all - (chunk.embeds ? table : 0.0) - first_back);
  PassTimes& pass = chunk.with_data;
  const bool gpipe = layout.pipeline > 1 && layout.schedule == ScheduleKind::kGpipe;
  pass.before_forward = first + (gpipe ? 0.0 : tail);
  pass.before_input = first_back + (gpipe ? tail : 0.0);
  pass.forward = beside(pass.forward, all - first, unhidden.forward);
  if (weights_apart(layout)) {
    pass.input = beside(pass.input, back, unhidden.backward);
    pass.weight = beside(pass.weight, scattered, unhidden.weight);
  } else {
    pass.input = beside(pass.input + pass.weight, back + scattered, unhidden.backward) - pass.weight;
  }
}

// Of the gradients, once a stage has done its last pass.
Seconds StepModel::Impl::reduction_left(const Layout& layout, std::size_t stage) const {
  const auto per_stage = static_cast<std::size_t>(chunks_of(layout));
  const Chunk* held = &chunks[stage * per_stage];
  double all = 0.0;
  double replicate = 0.0;
  double window = 0.0;  // of compute, while the last chunk's gradients become complete
  double last = 0.0;
  double early = 0.0;  // of chunks whose last backward is well before the stage's
  double room = 0.0;   // from there on
  const bool apart = weights_apart(layout);
  for (std::size_t i = 0; i < per_stage; ++i) {
    const Chunk& chunk = held[i];
    const double backward = (apart ? 0.0 : chunk.compute.input) + chunk.compute.weight;
    all += chunk.data.reduce.si();
    replicate += chunk.data.replicate.si();
    last = std::max(last, chunk.last.si());
    if (layout.schedule == ScheduleKind::kInterleaved && i > 0) {
      early += chunk.data.reduce.si();
      room += backward * layout.pipeline;
    } else {
      window += backward;
    }
  }
  if (layout.zero_stage >= 2) {
    // A pipeline's turns know when what ZeRO 2 scatters is done.
    last = scatters_wait ? 0.0 : last;
    return from_si<Seconds>(last + beside(window, all + replicate, unhidden.weight) -
                            beside(window, all, unhidden.weight));
  }
  all += replicate;
  if (!layout.overlap_gradient_reduce) {
    return from_si<Seconds>(all);
  }
  const double rest = std::max(0.0, all - early - last);
  const double backlog = std::max(0.0, early - room);
  return from_si<Seconds>(last + std::max(0.0, rest + backlog - window));
}
}  // namespace trainyard::simulator
