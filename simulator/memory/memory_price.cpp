#include "simulator/memory/memory_price.h"

#include "simulator/memory/memory_model.h"

namespace trainyard::simulator {

std::string_view to_string(MemoryUse use) {
  switch (use) {
    case MemoryUse::kParameters:
      return "parameters";
    case MemoryUse::kGradients:
      return "gradients";
    case MemoryUse::kOptimizer:
      return "optimizer";
    case MemoryUse::kActivations:
      return "activations";
    case MemoryUse::kGathered:
      return "gathered parameters";
    case MemoryUse::kBuckets:
      return "buckets";
    case MemoryUse::kLogits:
      return "logits";
    case MemoryUse::kCommunicator:
      return "communicators";
    case MemoryUse::kPadding:
      return "padding";
    case MemoryUse::kWorkspace:
      return "workspace";
    case MemoryUse::kFragmentation:
      return "fragmentation";
  }
  return "?";
}

MemoryPrice price_memory(const Workload& workload, const Machine& machine, const Layout& layout) {
  return MemoryModel(workload, machine).price(layout);
}

}  // namespace trainyard::simulator
