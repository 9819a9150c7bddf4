// CPU launchers of the gradient norm, the optimizers and plain memory passes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "core/program/norm_sum.h"
#include "executor/device/adamw_factors.h"
#include "executor/device/convert.h"
#include "executor/device/cpu_kernels.h"
#include "executor/device/element_type.h"
#include "executor/device/tiles.h"
#include "executor/device/vector_clones.h"
#include "executor/kernel/bfloat16.h"
#include "executor/kernel/optimizer.h"
#include "executor/kernel/serial_group.h"

namespace trainyard::executor::cpu {

namespace {

constexpr SerialGroup kGroup;
constexpr std::int64_t kTileBytes = 4 * kTileElements;
static_assert(kTileElements % kNormBlock == 0, "tiles are cut between norm blocks");

// Where there is no working copy, `working` is null.
template <class G, class W>
TRAINYARD_VECTOR_CLONES void adamw_range(const AdamWFactors& factors, float clip, float* master, W* working,
                                         const G* gradients, float* momentum, float* variance, std::int64_t elements) {
  const AdamWFactors f = factors;  // by value: stores to the arrays can't change it
  const auto update = [&](std::int64_t i) {
    adamw_element(f, master[i], clip * load(gradients + i), momentum[i], variance[i]);
  };
  if (working == nullptr) {
    kGroup.each(elements, update);
  } else {
    kGroup.each(elements, [&](std::int64_t i) {
      update(i);
      store(working + i, master[i]);
    });
  }
}

template <class G, class W>
TRAINYARD_VECTOR_CLONES void sgd_range(float learning_rate, float momentum, float weight_decay, float clip,
                                       float* master, W* working, const G* gradients, float* velocity,
                                       std::int64_t elements) {
  if (velocity == nullptr) {
    kGroup.each(elements, [&](std::int64_t i) {
      sgd_element(learning_rate, weight_decay, master[i], clip * load(gradients + i));
    });
  } else {
    kGroup.each(elements, [&](std::int64_t i) {
      velocity[i] = momentum * velocity[i] + clip * load(gradients + i);
      sgd_element(learning_rate, weight_decay, master[i], velocity[i]);
    });
  }
  if (working != nullptr) {
    kGroup.each(elements, [&](std::int64_t i) { store(working + i, master[i]); });
  }
}

double block_squares(const float* block, std::int64_t elements) {
  return trainyard::sum_of_squares({block, static_cast<std::size_t>(elements)});
}

template <class T>
double block_squares(const T* block, std::int64_t elements) {
  std::array<float, kNormBlock> wide;
  widen(block, wide.data(), elements);
  return block_squares(wide.data(), elements);
}

}  // namespace

void sum_of_squares(ThreadPool& pool, ConstValues values, std::int64_t elements, std::int64_t* sum) {
  std::mutex sum_mutex;
  for_each_range(pool, elements, kTileElements, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::int64_t, kSumWords> words{};
    for (std::int64_t block = begin; block < end; block += kNormBlock) {
      with_element_type(values.type, [&]<class T>(T) {
        add_term(words, block_squares(values.as<T>() + block, std::min(kNormBlock, end - block)));
      });
    }
    const std::lock_guard lock(sum_mutex);
    for (int word = 0; word < kSumWords; ++word) {
      sum[word] += words[static_cast<std::size_t>(word)];
    }
  });
}

void adamw(ThreadPool& pool, const AdamW& options, float* master, Values working, ConstValues gradients,
           float* momentum, float* variance, const float* clip_scale, std::int64_t elements) {
  const AdamWFactors factors = adamw_factors(options);
  const float clip = *clip_scale;
  if (clip < 0.0f) {
    return;
  }
  with_update_types(gradients.type, working, [&]<class G, class W>(G, W) {
    for_each_range(pool, elements, kTileElements, [&](std::int64_t begin, std::int64_t end) {
      adamw_range(factors, clip, master + begin, (working + begin).as<W>(), gradients.as<G>() + begin, momentum + begin,
                  variance + begin, end - begin);
    });
  });
}

void sgd(ThreadPool& pool, float learning_rate, float momentum, float weight_decay, float* master, Values working,
         ConstValues gradients, float* velocity, const float* clip_scale, std::int64_t elements) {
  const float clip = *clip_scale;
  if (clip < 0.0f) {
    return;
  }
  with_update_types(gradients.type, working, [&]<class G, class W>(G, W) {
    for_each_range(pool, elements, kTileElements, [&](std::int64_t begin, std::int64_t end) {
      sgd_range(learning_rate, momentum, weight_decay, clip, master + begin, (working + begin).as<W>(),
                gradients.as<G>() + begin, velocity == nullptr ? nullptr : velocity + begin, end - begin);
    });
  });
}

void clip_scale(const std::int64_t* sum, float limit, const GradientScale& gradients, float* scale) {
  const double norm = std::sqrt(value({sum, static_cast<std::size_t>(kSumWords)}));
  *scale = update_factor(norm, limit, gradients);
}

void copy(ThreadPool& pool, void* to, const void* from, ByteCount bytes) {
  for_each_range(pool, bytes.value(), kTileBytes, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

void zero(ThreadPool& pool, void* memory, ByteCount bytes) {
  for_each_range(pool, bytes.value(), kTileBytes, [&](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<std::byte*>(memory) + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace trainyard::executor::cpu
