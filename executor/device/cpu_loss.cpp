// CPU launchers of the loss over a sliced vocabulary.
#include <array>
#include <mutex>

#include "core/program/norm_sum.h"
#include "executor/device/cpu_kernels.h"
#include "executor/device/element_type.h"
#include "executor/device/tiles.h"
#include "executor/device/vector_clones.h"
#include "executor/kernel/loss.h"
#include "executor/kernel/serial_group.h"

namespace trainyard::executor::cpu {

namespace {

constexpr SerialGroup kGroup;

template <class T>
TRAINYARD_VECTOR_CLONES void statistics_rows(const T* logits, const std::int32_t* targets, float* statistics,
                                             std::int64_t begin, std::int64_t end, std::int64_t v,
                                             std::int64_t first_row) {
  for (std::int64_t row = begin; row < end; ++row) {
    const LossStatistics of_row = loss_statistics_row(kGroup, logits + row * v, targets[row] - first_row, v);
    float* to = statistics + row * kLossStatistics;
    to[0] = of_row.maximum;
    to[1] = of_row.sum;
    to[2] = of_row.target;
  }
}

template <class T>
TRAINYARD_VECTOR_CLONES void gradient_row(T* logits, std::int64_t target_column, const TokenLoss& token, float scale,
                                          std::int64_t v) {
  loss_gradient_row(kGroup, logits, target_column, token, scale, v);
}

}  // namespace

void loss_statistics(ThreadPool& pool, ConstValues logits, const std::int32_t* targets, float* statistics,
                     std::int64_t t, std::int64_t v, std::int64_t first_row) {
  with_element_type(logits.type, [&]<class T>(T) {
    for_each_row_range(pool, t, v, [&](std::int64_t begin, std::int64_t end) {
      statistics_rows(logits.as<T>(), targets, statistics, begin, end, v, first_row);
    });
  });
}

void loss_gradient(ThreadPool& pool, Values logits, const std::int32_t* targets, const float* statistics, int parts,
                   std::int64_t t, std::int64_t v, std::int64_t first_row, float scale, std::int64_t* loss_sum) {
  std::mutex sum_mutex;
  for_each_row_range(pool, t, v, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::int64_t, kSumWords> words{};
    for (std::int64_t row = begin; row < end; ++row) {
      const TokenLoss token = token_loss(statistics + row * kLossStatistics, parts, t * kLossStatistics);
      if (loss_sum != nullptr) {
        add_term(words, token.loss);
      }
      if (scale != 0.0f) {
        with_element_type(logits.type, [&]<class T>(T) {
          gradient_row(logits.as<T>() + row * v, targets[row] - first_row, token, scale, v);
        });
      }
    }
    if (loss_sum != nullptr) {  // integers: the order of tiles doesn't matter
      const std::lock_guard lock(sum_mutex);
      for (int word = 0; word < kSumWords; ++word) {
        loss_sum[word] += words[static_cast<std::size_t>(word)];
      }
    }
  });
}

}  // namespace trainyard::executor::cpu
