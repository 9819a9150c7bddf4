// CPU launchers of the loss over a sliced vocabulary.
#include <array>
#include <mutex>

#include "core/program/norm_sum.h"
#include "executor/device/cpu_kernels.h"
#include "executor/device/tiles.h"
#include "executor/device/vector_clones.h"
#include "executor/kernel/loss.h"
#include "executor/kernel/serial_group.h"

namespace trainyard::executor::cpu {

namespace {

constexpr SerialGroup kGroup;

TRAINYARD_VECTOR_CLONES void statistics_rows(const float* logits, const std::int32_t* targets, float* statistics,
                                             std::int64_t begin, std::int64_t end, std::int64_t v,
                                             std::int64_t first_row) {
  for (std::int64_t row = begin; row < end; ++row) {
    loss_statistics_row(kGroup, logits + row * v, targets[row] - first_row, statistics + row * kLossStatistics, v);
  }
}

TRAINYARD_VECTOR_CLONES void gradient_row(float* logits, std::int64_t target_column, const TokenLoss& token,
                                          float scale, std::int64_t v) {
  loss_gradient_row(kGroup, logits, target_column, token, scale, v);
}

}  // namespace

void loss_statistics(ThreadPool& pool, const float* logits, const std::int32_t* targets, float* statistics,
                     std::int64_t t, std::int64_t v, std::int64_t first_row) {
  for_each_row_range(pool, t, v, [&](std::int64_t begin, std::int64_t end) {
    statistics_rows(logits, targets, statistics, begin, end, v, first_row);
  });
}

void loss_gradient(ThreadPool& pool, float* logits, const std::int32_t* targets, const float* statistics, int parts,
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
        gradient_row(logits + row * v, targets[row] - first_row, token, scale, v);
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
