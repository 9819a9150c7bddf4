// The global gradient norm and the loss, summed so that no layout changes a bit of the result.
//
// Each tensor's local elements are cut into blocks of kNormBlock; a block's sum of squares is taken in fp64
// in the fixed order below by whoever owns the block (buckets are cut only between blocks). Block sums are then
// added as integers in a wide fixed-point accumulator, where addition is associative: the result doesn't
// depend on which rank adds what, or in which order (a "Kulisch" accumulator, cut to the range that
// gradients need). Range 2^-150 .. 2^138; smaller terms are rounded to it, larger or non-finite ones set a
// flag that makes the value NaN.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trainyard {

constexpr std::int64_t kNormBlock = 1024;

// 9 limbs of 32 payload bits in 64-bit integers: up to 2^31 terms may be added before a carry is lost, and
// limbs of different ranks are added by a plain int64 all-reduce. The last word counts non-finite terms.
constexpr int kSumLimbs = 9;
constexpr int kSumWords = kSumLimbs + 1;
// kSums buffer: [0, kSumWords) squared gradients, [kSumWords, 2 kSumWords) loss.
constexpr int kSumsWords = 2 * kSumWords;

// Adds a non-negative term, rounded to a multiple of 2^-150, ties to even; sets the flag for one that is not
// finite or not below 2^138. words.size() == kSumWords.
void add_term(std::span<std::int64_t> words, double term);
// The accumulated value, rounded once to double, ties to even; NaN when the flag is set.
double value(std::span<const std::int64_t> words);

// Sum of squares of one block, in fp64, in an order that vectorises and that no CPU changes: lane l of
// kNormLanes adds elements l, l + kNormLanes, ... in turn; then lane l + n/2 is added to lane l for n = kNormLanes,
// kNormLanes / 2, ..., 2. A float's square is exact in fp64, so only the additions round.
constexpr std::size_t kNormLanes = 16;
double sum_of_squares(std::span<const float> block);

}  // namespace trainyard
