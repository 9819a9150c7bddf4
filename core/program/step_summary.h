// StepSummary: a role's step without its instructions, for pricing a hundred thousand layouts a second.
//
// It comes from the same schedule and segments as the program; a property test holds the two equal.
//
//   step time ~ sum over entries (multiplicity x time), pipeline bubble from per-micro-batch times,
//               communication hidden or exposed by class.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "core/program/program.h"

namespace trainyard {

// What may hide a communication.
enum class Exposure : std::uint8_t {
  kExposed,             // compute waits for it: tensor-parallel forward, parameters after the optimizer
  kWithWeightGradient,  // f in backward: runs beside the weight gradients of its segment
  kWithBackward,        // gradient buckets beside the backward of earlier layers
  kPipeline,            // sends and receives between stages
};

struct SegmentCount {
  SegmentId segment;  // into StepSummary::segments
  InstructionKind kind = InstructionKind::kForward;
  bool accumulate = false;
  std::int64_t count = 0;  // per step
};

struct CommunicationCount {
  Communication communication;
  Exposure exposure = Exposure::kExposed;
  GroupKind group = GroupKind::kTensor;
  int group_size = 1;
  std::int64_t count = 0;  // per step
};

struct StageSummary {
  int stage = 0;
  std::vector<SegmentCount> segments;
  std::vector<CommunicationCount> communications;
  std::vector<Operation> update;         // gradient norm and optimizer, once a step
  int in_flight = 1;                     // micro-batches whose activations are held, at worst
  ByteCount persistent;                  // parameters, gradients, optimizer, tokens: exact
  ByteCount activations_per_microbatch;  // held from forward to backward, of the stage's whole share
  ByteCount peak_estimate;               // near the program's peak without fragmentation; see the tests
};

struct StepSummary {
  std::vector<Segment> segments;
  std::vector<StageSummary> stages;  // one per pipeline stage (tp and dp index 0)
  std::int64_t microbatches = 1;
};

// Throws Error as compile() does.
StepSummary summarize(const Plan& plan);

}  // namespace trainyard
