// Memory of communicators: channels of 4 MiB a direction and peer (NCCL_BUFFSIZE), 16 to 32 of them, for each kind of
// group that a rank is in.
//
// runtime_memory of the accelerators' files includes those of a usual run.
#pragma once

#include "core/layout/layout.h"
#include "core/layout/mesh.h"

namespace trainyard::simulator {

constexpr double kCommunicatorBytes = 0.4 * 0x1p30;
constexpr int kUsualCommunicators = 5;

inline int communicators(std::int64_t tensor, std::int64_t context, std::int64_t data, std::int64_t pipeline,
                         std::int64_t expert, std::int64_t expert_tensor) {
  const auto one = [](bool used) { return used ? 1 : 0; };
  return one(tensor > 1) + one(context > 1) + one(data * context > 1) + one(pipeline > 1) + one(expert > 1) +
         one(expert_tensor > 1);
}

inline int communicators(const Layout& layout) {
  return communicators(layout.tensor, layout.context, layout.data, layout.pipeline, layout.expert,
                       layout.expert_tensor);
}

inline int communicators(const Mesh& mesh) {
  return communicators(mesh.size(Axis::kTensor), mesh.size(Axis::kContext), mesh.size(Axis::kData),
                       mesh.size(Axis::kPipeline), mesh.size(Axis::kExpert), mesh.size(Axis::kExpertTensor));
}

}  // namespace trainyard::simulator
