// Where corruptions land in training: bits in memory by kind, and values computed by kind.
//
//   memory_share   bytes of the kind over all of them
//   compute_share  forward : backward : update = 1 : 2 : values a step of the optimizer over those of the products, ~0
//   deviation      of typical values; lasting: see below
//
// lasting, our judgement after TrainSDC (arXiv:2608.30769: faults in the forward Q and K path do lasting damage, V, MLP
// and norms short-lived, backward broad): optimizer state stays (1); working weights are rewritten from the master copy
// every step where there is one (0.05), else stay (1); a wrong gradient enters the moments (0.5); activations 0.3;
// messages as gradients.
#pragma once

#include <vector>

#include "core/units/quantity.h"
#include "simulator/failure/corruption_model.h"

namespace trainyard::simulator {

// Memory of one rank by kind, at its fullest.
struct TrainingMemory {
  Bytes weights;
  Bytes activations;
  Bytes gradients;
  Bytes optimizer;
  Bytes communication;
  DataType weight_type = DataType::kBf16;
  DataType activation_type = DataType::kBf16;
  DataType gradient_type = DataType::kFp32;
  DataType optimizer_type = DataType::kFp32;
  DataType communication_type = DataType::kBf16;
  bool master_weights = true;
};

std::vector<SiteExposure> training_sites(const TrainingMemory& memory, const ComputeErrorValues& values = {});

}  // namespace trainyard::simulator
