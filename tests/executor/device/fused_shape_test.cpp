// Which attention is a library's, what shares a plan, and where its operands lie.
#include "executor/device/cuda/fused_shape.h"

#include <gtest/gtest.h>

#include <cmath>

#include "executor/device/attention_choice.h"
#include "tests/support/error_of.h"

namespace trainyard::executor {
namespace {

constexpr Attention kGrouped{
    .sequences = 2, .query_heads = 4, .key_heads = 2, .queries = 10, .keys = 10, .head_size = 16, .query_tile = 64};

TEST(FusedShape, OperandsLieInTheRowsThatAllOfThemShare) {
  const FusedTensors at = fused_tensors(fused_shape(kGrouped, DataType::kBf16).value());
  // A row of qkv is 4 query heads, 2 of keys and 2 of values, of 16 elements each: 128. A sequence is 10 rows: 1280.
  EXPECT_EQ(at.query, (FusedTensor{0, {2, 4, 10, 16}, {1280, 16, 128, 1}}));
  EXPECT_EQ(at.key, (FusedTensor{64, {2, 2, 10, 16}, {1280, 16, 128, 1}}));    // behind 4 query heads
  EXPECT_EQ(at.value, (FusedTensor{96, {2, 2, 10, 16}, {1280, 16, 128, 1}}));  // and 2 of keys
  // A row of out is 4 heads: 64 elements, a sequence 640.
  EXPECT_EQ(at.out, (FusedTensor{0, {2, 4, 10, 16}, {640, 16, 64, 1}}));
  // The log-sum-exp is [2, 4, 10], without gaps.
  EXPECT_EQ(at.statistics, (FusedTensor{0, {2, 4, 10, 1}, {40, 10, 1, 1}}));
  EXPECT_EQ(at.scale, 0.25f);  // 1 / sqrt(16)
}

TEST(FusedShape, ValuesMayBeOfAnotherSizeThanKeys) {
  Attention attention = kGrouped;
  attention.head_size = 24;
  attention.value_size = 8;
  const FusedTensors at = fused_tensors(fused_shape(attention, DataType::kFp16).value());
  // A row: 4 x 24 of queries, 2 x 24 of keys, 2 x 8 of values: 160. Scores are scaled by the keys' size.
  EXPECT_EQ(at.key, (FusedTensor{96, {2, 2, 10, 24}, {1600, 24, 160, 1}}));
  EXPECT_EQ(at.value, (FusedTensor{144, {2, 2, 10, 8}, {1600, 8, 160, 1}}));
  EXPECT_EQ(at.out, (FusedTensor{0, {2, 4, 10, 8}, {320, 8, 32, 1}}));
  EXPECT_EQ(at.scale, 1.0f / std::sqrt(24.0f));
}

TEST(FusedShape, IsForBf16AndFp16OfWholePacks) {
  EXPECT_TRUE(fused_shape(kGrouped, DataType::kBf16));
  EXPECT_TRUE(fused_shape(kGrouped, DataType::kFp16));
  EXPECT_FALSE(fused_shape(kGrouped, DataType::kFp32));
  const auto with = [](auto change) {
    Attention attention = kGrouped;
    change(attention);
    return fused_shape(attention, DataType::kBf16);
  };
  EXPECT_TRUE(with([](Attention& a) { a.head_size = 128; }));
  EXPECT_FALSE(with([](Attention& a) { a.head_size = 136; }));  // larger than our own kernels take, too
  EXPECT_FALSE(with([](Attention& a) { a.head_size = 20; }));   // 40 bytes are no packs of 16
  EXPECT_FALSE(with([](Attention& a) { a.value_size = 12; }));
  EXPECT_FALSE(with([](Attention& a) { a.queries = a.keys = 1; }));
  // 1 x 6 x 10 statistics are 240 bytes, 1 x 6 x 11 are 264: 8 more than 16 packs of 16.
  const auto six_heads = [&](std::int64_t rows) {
    return with([rows](Attention& a) {
      a.sequences = 1;
      a.query_heads = 6;
      a.queries = a.keys = rows;
    });
  };
  EXPECT_TRUE(six_heads(10));
  EXPECT_FALSE(six_heads(11));
  EXPECT_FALSE(with([](Attention& a) { a.sequences = 0; }));
}

TEST(FusedShape, WhatAPlanDoesNotSeeSharesIt) {
  const auto shape = fused_shape(kGrouped, DataType::kBf16);
  Attention other = kGrouped;
  other.query_tile = 16;
  other.window = 10;  // a query sees at most the 10 keys that there are
  EXPECT_EQ(fused_shape(other, DataType::kBf16), shape);
  other.window = 9;  // the last query no longer sees the first key
  EXPECT_NE(fused_shape(other, DataType::kBf16), shape);
  EXPECT_NE(fused_shape(kGrouped, DataType::kFp16), shape);
  other = kGrouped;
  other.pass = AttentionPass::kBackward;
  EXPECT_NE(fused_shape(other, DataType::kBf16), shape);
  // Without a mask, a window has no meaning.
  other = kGrouped;
  other.mask = AttentionMask::kNone;
  const auto unmasked = fused_shape(other, DataType::kBf16);
  EXPECT_NE(unmasked, shape);
  other.window = 3;
  EXPECT_EQ(fused_shape(other, DataType::kBf16), unmasked);
}

TEST(FusedShape, ReadsAsASentence) {
  Attention attention = kGrouped;
  attention.pass = AttentionPass::kBackward;
  attention.window = 4;
  EXPECT_EQ(to_string(fused_shape(attention, DataType::kBf16).value()),
            "backward of 2 x 10 rows, 4 / 2 heads of 16, bf16, a window of 4");
}

TEST(FusedShape, AddressesAreMultiplesOf16Bytes) {
  alignas(16) const std::array<std::byte, 32> memory{};
  EXPECT_TRUE(fused_alignment({memory.data(), memory.data() + 16, nullptr}));
  EXPECT_FALSE(fused_alignment({memory.data(), memory.data() + 8}));
}

TEST(AttentionChoice, IsReadByName) {
  EXPECT_EQ(parse_attention_choice("auto"), AttentionChoice::kAuto);
  EXPECT_EQ(parse_attention_choice("own"), AttentionChoice::kOwn);
  EXPECT_EQ(parse_attention_choice("cudnn"), AttentionChoice::kCudnn);
  const Error error = error_of([] { parse_attention_choice("flash"); });
  EXPECT_EQ(error.where(), "TRAINYARD_ATTENTION");
  EXPECT_EQ(attention_choice(AttentionChoice::kOwn), AttentionChoice::kOwn);
}

TEST(AttentionChoice, AMissingCudnnIsAnErrorOnlyWhereItWasAskedFor) {
  EXPECT_TRUE(wants_cudnn(AttentionChoice::kAuto, ""));
  EXPECT_TRUE(wants_cudnn(AttentionChoice::kCudnn, ""));
  EXPECT_FALSE(wants_cudnn(AttentionChoice::kOwn, ""));
  EXPECT_FALSE(wants_cudnn(AttentionChoice::kOwn, "no libcudnn.so.9"));
  EXPECT_FALSE(wants_cudnn(AttentionChoice::kAuto, "no libcudnn.so.9"));
  const Error error = error_of([] { wants_cudnn(AttentionChoice::kCudnn, "no libcudnn.so.9"); });
  EXPECT_EQ(error.problem(), "no libcudnn.so.9");
  EXPECT_EQ(error.where(), "TRAINYARD_ATTENTION=cudnn");
}

}  // namespace
}  // namespace trainyard::executor
