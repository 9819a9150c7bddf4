#include "simulator/planner/summary_price.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <variant>

#include "simulator/step/step_costs.h"

namespace trainyard::simulator {
namespace {

// One stage's times, over the whole step unless said otherwise.
struct StageTimes {
  Seconds compute;
  Seconds tensor_exposed;
  Seconds backward;        // of one micro-batch
  Seconds transfer;        // one send
  Seconds reduction_left;  // after the last backward
  Seconds norm;            // sums of squares
  Seconds norm_reduction;
  Seconds optimizer;  // with gathered parameters
};

class StagePricer {
 public:
  StagePricer(const StepSummary& summary, const Layout& layout, const PriceList& prices)
      : summary_(summary), layout_(layout), prices_(prices), mesh_(layout) {
    per_node_ = ranks_per_node(prices.profile, prices.ranks);
    if (const MeasuredProfile* measured = prices.profile.measured()) {
      const Concurrency& set = measured->at(static_cast<int>(prices.ranks));
      overhead_ = set.instruction_overhead;
      handover_ = set.stream_handover;
    }
  }

  StageTimes stage(const StageSummary& stage) {
    StageTimes times;
    const double microbatches = static_cast<double>(summary_.microbatches);
    Seconds weight_gradients;
    for (const SegmentCount& entry : stage.segments) {
      const Seconds time = static_cast<double>(entry.count) * (segment(entry) + overhead_);
      times.compute += time;
      if (entry.kind == InstructionKind::kBackwardInput || entry.kind == InstructionKind::kBackwardWeight) {
        times.backward += time / microbatches;
      }
      if (entry.kind == InstructionKind::kBackwardWeight) {
        weight_gradients += time;
      }
    }
    add_communications(stage, weight_gradients, times);
    return times;
  }

 private:
  Seconds segment(const SegmentCount& entry) {
    const auto [known, added] = segments_.try_emplace(std::tuple(entry.segment, entry.kind, entry.accumulate));
    if (added) {
      const Segment& segment = summary_.segments[entry.segment.at()];
      const Pass pass = entry.kind == InstructionKind::kBackwardInput    ? Pass::kBackwardInput
                        : entry.kind == InstructionKind::kBackwardWeight ? Pass::kBackwardWeight
                                                                         : Pass::kForward;
      std::vector<Operation> operations = segment.operations(pass);
      for (Operation& operation : operations) {
        if (Gemm* gemm = std::get_if<Gemm>(&operation); gemm != nullptr && entry.accumulate) {
          gemm->accumulate = true;
        }
      }
      known->second = prices_.kernels.time(operations);
    }
    return known->second;
  }

  Seconds communication(const CommunicationCount& entry) {
    const Communication& what = entry.communication;
    return prices_.collectives.time(what.kind, what.algorithm, what.payload, placed(entry.group)) + overhead_ +
           2.0 * handover_;
  }

  GroupPlacement placed(GroupKind kind) {
    const auto [known, added] = placements_.try_emplace(kind);
    if (added) {
      known->second = place(kind);
    }
    return known->second;
  }

  // Of rank 0's group: where ranks are dealt out evenly, all groups of a kind lie alike.
  GroupPlacement place(GroupKind kind) const {
    if (kind == GroupKind::kWorld) {
      return {static_cast<int>(prices_.ranks), static_cast<int>(per_node_)};
    }
    const Axis axis = kind == GroupKind::kTensor ? Axis::kTensor
                      : kind == GroupKind::kData ? Axis::kData
                                                 : Axis::kPipeline;
    std::vector<Rank> members = mesh_.group(axis, Rank(0));
    if (kind == GroupKind::kEmbedding) {  // the pipeline's ends
      members = {members.front(), members.back()};
    }
    const auto local =
        std::count_if(members.begin(), members.end(), [this](Rank member) { return member.value() < per_node_; });
    return {static_cast<int>(members.size()), static_cast<int>(local)};
  }

  void add_communications(const StageSummary& stage, Seconds weight_gradients, StageTimes& times) {
    Seconds with_weights, reductions, last_reduction, gathers;
    std::int64_t reduced = 0;
    for (const CommunicationCount& entry : stage.communications) {
      const Seconds one = communication(entry);
      const Seconds all = static_cast<double>(entry.count) * one;
      if (entry.group == GroupKind::kPipeline) {
        times.transfer = max(times.transfer, one);
      } else if (entry.group == GroupKind::kWorld || entry.group == GroupKind::kEmbedding) {
        times.norm_reduction += all;  // both follow the last gradient
      } else if (entry.group == GroupKind::kData && entry.communication.kind == CommunicationKind::kAllGather) {
        gathers += all;
      } else if (entry.group == GroupKind::kData) {
        reductions += all;
        last_reduction = one;
        reduced += entry.exposure == Exposure::kWithBackward ? entry.count : 0;
      } else if (entry.exposure == Exposure::kWithWeightGradient) {
        with_weights += all;
      } else {
        times.tensor_exposed += all;
      }
    }
    const OverlapSlowdown beside_tensor = prices_.collectives.overlap(layout_.tensor);
    times.tensor_exposed += overlapped(weight_gradients, with_weights, beside_tensor) - weight_gradients;
    times.reduction_left = reduced == 0 ? reductions : hidden(reductions, last_reduction, reduced, times.backward);
    add_update(stage, gathers, times);
  }

  // Buckets become final one after the other during the last backward; the last bucket is never hidden.
  Seconds hidden(Seconds all, Seconds last, std::int64_t buckets, Seconds backward) const {
    const Seconds window = backward * (1.0 - 1.0 / static_cast<double>(buckets));
    const OverlapSlowdown slowdown = prices_.collectives.overlap(layout_.data);
    return max(last, overlapped(window, all, slowdown) - window);
  }

  void add_update(const StageSummary& stage, Seconds gathers, StageTimes& times) {
    Seconds optimizer;
    std::int64_t updates = 0;
    for (const Operation& operation : stage.update) {
      const Elementwise* pass = std::get_if<Elementwise>(&operation);
      const Seconds time = prices_.kernels.time(operation) + overhead_;
      if (pass != nullptr && pass->kernel == ElementwiseKernel::kSumOfSquares) {
        times.norm += time;
      } else {
        optimizer += time;
        ++updates;
      }
    }
    // Each bucket is gathered while the next is updated.
    times.optimizer =
        max(optimizer, gathers) + min(optimizer, gathers) / static_cast<double>(std::max<std::int64_t>(updates, 1));
  }

  const StepSummary& summary_;
  const Layout& layout_;
  const PriceList& prices_;
  Mesh mesh_;
  std::int64_t per_node_ = 1;
  Seconds overhead_;
  Seconds handover_;
  std::map<std::tuple<SegmentId, InstructionKind, bool>, Seconds> segments_;
  std::map<GroupKind, GroupPlacement> placements_;
};

}  // namespace

Seconds overlapped(Seconds a, Seconds b, const OverlapSlowdown& slowdown) {
  const Seconds slow_a = a * slowdown.compute;
  const Seconds slow_b = b * slowdown.communication;
  return slow_a <= slow_b ? slow_a + (b - slow_a / slowdown.communication) : slow_b + (a - slow_b / slowdown.compute);
}

Seconds pipeline_time(const std::vector<Seconds>& stages, Seconds transfer, std::int64_t microbatches,
                      ScheduleKind schedule, int chunks) {
  const std::size_t p = stages.size();
  Seconds period;
  Seconds through;  // work of stages j.. and the transfers between them, there and back
  for (std::size_t j = p; j-- > 0;) {
    through += stages[j] + (j + 1 < p ? 2.0 * transfer : Seconds());
    period = max(period, stages[j]);
    if (schedule == ScheduleKind::k1f1b) {
      period = max(period, through / static_cast<double>(p - j));
    }
  }
  if (schedule == ScheduleKind::kInterleaved) {
    const double crossings = 2.0 * chunks * (static_cast<double>(p) - 1.0) / static_cast<double>(p);
    return period + (through - period) / static_cast<double>(chunks) +
           static_cast<double>(microbatches - 1) * (period + crossings * transfer);
  }
  return through + static_cast<double>(microbatches - 1) * period;
}

SummaryPrice price(const StepSummary& summary, const Layout& layout, const PriceList& prices) {
  StagePricer pricer(summary, layout, prices);
  std::vector<Seconds> per_microbatch;
  const double microbatches = static_cast<double>(summary.microbatches);
  SummaryPrice result;
  Seconds before;  // backward of the stages before: how much earlier this stage is done
  Seconds reduction_left, norm, norm_reduction, optimizer, transfer, slowest;
  for (const StageSummary& stage : summary.stages) {
    const StageTimes times = pricer.stage(stage);
    const Seconds work = times.compute + times.tensor_exposed;
    per_microbatch.push_back(work / microbatches);
    if (work > slowest) {
      slowest = work;
      result.parts.compute = times.compute;
      result.parts.tensor_exposed = times.tensor_exposed;
    }
    reduction_left = max(reduction_left, times.reduction_left - before);
    before += times.backward;
    transfer = max(transfer, times.transfer);
    norm = max(norm, times.norm);
    norm_reduction = max(norm_reduction, times.norm_reduction);
    optimizer = max(optimizer, times.optimizer);
  }
  const Seconds pipeline =
      pipeline_time(per_microbatch, transfer, summary.microbatches, layout.schedule, layout.chunks_per_stage);
  result.parts.pipeline = pipeline - slowest;
  result.parts.gradient_exposed = reduction_left;
  result.parts.update = norm + norm_reduction + optimizer;
  result.step_time = pipeline + reduction_left + result.parts.update;
  return result;
}

}  // namespace trainyard::simulator
