// Plans of every kind of layout that a program expresses, on a model small enough to count by hand.
#pragma once

#include <string>
#include <vector>

#include "tests/core/program/tiny_plan.h"
#include "tests/support/gpt2_fields.h"

namespace trainyard::testing {

struct NamedPlan {
  std::string name;
  Plan plan;
};

// 8 layers of 8 heads that divide by 8; sequences of 512.
inline ModelSpec even_model() {
  ModelSpec model = tiny_model();
  model.layers = 8;
  model.hidden = 128;
  model.feed_forward = 256;
  model.heads = 8;
  model.key_value_heads = 8;
  model.head_size = 16;
  model.vocabulary = 512;
  model.positions = 4096;
  return model;
}

inline ModelSpec expert_model() {
  ModelSpec model = even_model();
  model.family = ModelFamily::kMixtral;
  model.experts = MixtureOfExperts{.experts = 8, .experts_per_token = 2, .expert_feed_forward = 64};
  return model;
}

inline ModelSpec latent_model() {
  ModelSpec model = expert_model();
  model.family = ModelFamily::kDeepseekV3;
  model.latent_attention = LatentAttention{.query_rank = 48, .key_value_rank = 32, .no_rope_size = 16, .rope_size = 8};
  model.head_size = 24;
  model.value_head_size = 16;
  model.experts->shared_experts = 1;
  model.experts->first_dense_layers = 1;
  return model;
}

inline ModelSpec gpt2_model() {
  ModelSpec model = even_model();
  set_gpt2_fields(model);
  model.tied_embeddings = true;
  return model;
}

// Attention and feed-forward side by side, behind one norm (Falcon 7B) or one each (Falcon 40B).
inline ModelSpec side_by_side_model(bool one_norm) {
  ModelSpec model = even_model();
  model.family = ModelFamily::kFalcon;
  model.normalization = Normalization::kLayer;
  model.activation = Activation::kGelu;
  model.gated_feed_forward = false;
  model.parallel_branches = true;
  model.shared_norm = one_norm;
  return model;
}

inline ModelSpec multi_token_model(ModelSpec model, std::int64_t blocks) {
  model.multi_token_layers = blocks;
  return model;
}

inline Plan even_plan(const ModelSpec& model, const Layout& layout) {
  Plan plan = tiny_plan(layout, 512);
  plan.model = model;
  return plan;
}

// One block and two behind dense layers and behind experts; tables shared, copied, and of two chunks.
inline void add_multi_token_plans(std::vector<NamedPlan>& plans, const Layout& base) {
  const auto add = [&](const ModelSpec& model, auto change) {
    Layout layout = base;
    change(layout);
    plans.push_back({model.name + " " + std::to_string(model.multi_token_layers) + " blocks " + describe(layout),
                     even_plan(model, layout)});
  };
  ModelSpec tied = even_model();
  tied.tied_embeddings = true;
  const auto dual = [](Layout& l) {
    l.schedule = ScheduleKind::kDualPipe;
    l.chunks_per_stage = 2;
    l.pipeline = 4;
    l.accumulation = 8;
  };
  add(tied, dual);
  for (const int zero : {0, 1, 2, 3}) {
    add(multi_token_model(even_model(), 2), [&](Layout& l) { l.zero_stage = zero; });
    add(multi_token_model(tied, 1), [&](Layout& l) {
      l.zero_stage = zero;
      l.pipeline = 2;
    });
    add(multi_token_model(even_model(), 1), [&](Layout& l) {
      dual(l);
      l.zero_stage = zero;
    });
    add(multi_token_model(even_model(), 2), [&](Layout& l) {
      dual(l);
      l.schedule = ScheduleKind::kZeroBubbleV;
      l.zero_stage = zero;
    });
  }
  for (const bool shares : {false, true}) {
    add(multi_token_model(latent_model(), 2), [&](Layout& l) {
      l.tensor = 2;
      l.sequence_parallel = shares;
      l.pipeline = 2;
      l.expert = 2;
      l.zero_stage = 1;
      l.recompute = shares ? Recompute::kFull : Recompute::kNone;
      l.recompute_every = shares ? 2 : 1;
    });
  }
  add(multi_token_model(latent_model(), 1), [](Layout& l) {
    l.context = 2;
    l.expert = 2;
    l.zero_stage = 3;
    l.pipeline = 2;
    l.chunk_layers = {8, 0};
  });
}

// The optimizer in host memory, of shares and of wholes.
inline void add_host_update_plans(std::vector<NamedPlan>& plans, const Layout& base) {
  for (const bool mirrored : {false, true}) {
    for (const int zero : {0, 1, 2, 3}) {
      Layout layout = base;
      layout.offload.optimizer = true;
      layout.zero_stage = zero;
      layout.parameter_type = DataType::kBf16;
      layout.pipeline = mirrored ? 4 : 2;
      layout.schedule = mirrored ? ScheduleKind::kDualPipe : ScheduleKind::k1f1b;
      layout.chunks_per_stage = mirrored ? 2 : 1;
      layout.accumulation = mirrored ? 8 : base.accumulation;
      layout.overlap_gradient_reduce = zero != 1;
      const ModelSpec model = zero == 0 ? gpt2_model() : zero == 1 ? expert_model() : even_model();
      plans.push_back({model.name + " " + describe(layout), even_plan(model, layout)});
    }
  }
}

inline std::vector<NamedPlan> plans_of_every_kind() {
  std::vector<NamedPlan> plans;
  const auto add = [&](const ModelSpec& model, const Layout& layout) {
    plans.push_back({model.name + " " + describe(layout), even_plan(model, layout)});
  };
  Layout base;
  base.bucket_bytes = ByteCount(256 << 10);
  base.accumulation = 4;
  base.data = 2;
  const auto with = [&](auto change) {
    Layout layout = base;
    change(layout);
    return layout;
  };
  const ModelSpec dense = even_model();
  for (const int zero : {0, 1, 2, 3}) {
    add(dense, with([&](Layout& l) {
          l.zero_stage = zero;
          l.data = 4;
        }));
    add(dense, with([&](Layout& l) {
          l.zero_stage = zero;
          l.tensor = 2;
          l.sequence_parallel = true;
          l.pipeline = 2;
        }));
    add(gpt2_model(), with([&](Layout& l) {
          l.zero_stage = zero;
          l.pipeline = 2;
        }));
  }
  for (const int zero : {1, 2, 3}) {
    add(dense, with([&](Layout& l) {
          l.zero_stage = zero;
          l.data = 8;
          l.shard_group = 2;
        }));
  }
  for (const ContextKind kind : {ContextKind::kRing, ContextKind::kUlysses, ContextKind::kAllGather}) {
    add(dense, with([&](Layout& l) {
          l.context = 4;
          l.context_kind = kind;
        }));
    add(dense, with([&](Layout& l) {
          l.context = 2;
          l.context_kind = kind;
          l.tensor = 2;
          l.pipeline = 2;
          l.zero_stage = 3;
        }));
  }
  for (const ScheduleKind kind : {ScheduleKind::kZeroBubbleH1, ScheduleKind::kZeroBubbleH2, ScheduleKind::kZeroBubbleV,
                                  ScheduleKind::kDualPipe}) {
    const bool two = kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipe;
    for (const bool cut : {false, true}) {
      add(dense, with([&](Layout& l) {
            l.schedule = kind;
            l.chunks_per_stage = two ? 2 : 1;
            l.pipeline = 4;
            l.accumulation = 8;
            l.tensor = cut ? 2 : 1;
            l.sequence_parallel = cut;
            l.zero_stage = cut ? 3 : 1;
            l.recompute = cut ? Recompute::kFull : Recompute::kNone;
          }));
    }
  }
  add(dense, with([](Layout& l) {
        l.pipeline = 4;
        l.chunk_layers = {1, 3, 3, 1};
      }));
  add(dense, with([](Layout& l) {
        l.pipeline = 4;
        l.chunk_layers = {0, 4, 4, 0};
      }));
  add(dense, with([](Layout& l) {
        l.recompute = Recompute::kFull;
        l.recompute_every = 3;
        l.pipeline = 2;
      }));
  add(dense, with([](Layout& l) { l.recompute = Recompute::kSelective; }));
  for (const ModelSpec& model : {expert_model(), latent_model()}) {
    add(model, with([](Layout& l) { l.data = 4; }));
    add(model, with([](Layout& l) {
          l.data = 4;
          l.expert = 4;
          l.zero_stage = 1;
        }));
    add(model, with([](Layout& l) {
          l.tensor = 2;
          l.sequence_parallel = true;
          l.expert = 2;
          l.expert_tensor = 2;
          l.pipeline = 2;
        }));
    add(model, with([](Layout& l) {
          l.expert = 2;
          l.context = 2;
          l.zero_stage = 3;
        }));
  }
  for (const bool one_norm : {false, true}) {
    const ModelSpec model = side_by_side_model(one_norm);
    for (const bool shares : {false, true}) {
      add(model, with([&](Layout& l) {
            l.tensor = 2;
            l.sequence_parallel = shares;
            l.context = shares ? 1 : 2;
            l.zero_stage = 3;
          }));
      add(model, with([&](Layout& l) {
            l.tensor = 2;
            l.sequence_parallel = shares;
            l.pipeline = 2;
            l.schedule = shares ? ScheduleKind::kZeroBubbleH1 : ScheduleKind::k1f1b;
            l.recompute = shares ? Recompute::kNone : Recompute::kFull;
          }));
    }
  }
  add_multi_token_plans(plans, base);
  add_host_update_plans(plans, base);
  return plans;
}

}  // namespace trainyard::testing
