#include "core/program/operation.h"

#include <gtest/gtest.h>

#include "core/program/segment.h"

namespace trainyard {
namespace {

Attention attention(AttentionMask mask, std::int64_t queries, std::int64_t keys, std::int64_t tile) {
  Attention result;
  result.sequences = 2;
  result.query_heads = 6;
  result.key_heads = 3;
  result.queries = queries;
  result.keys = keys;
  result.head_size = 16;
  result.mask = mask;
  result.query_tile = tile;
  return result;
}

TEST(Operation, AGemmMultipliesAndAddsOncePerTriple) {
  Gemm gemm;
  gemm.batch = 3;
  gemm.m = 5;
  gemm.n = 7;
  gemm.k = 11;
  EXPECT_EQ(flops(Operation(gemm)), FlopCount(2 * 3 * 5 * 7 * 11));
  // A 55, B 77, C 35 elements of 4 bytes, 3 times; accumulating reads C once more.
  EXPECT_EQ(bytes_moved(Operation(gemm)), ByteCount(3 * (55 + 77 + 35) * 4));
  gemm.accumulate = true;
  EXPECT_EQ(bytes_moved(Operation(gemm)), ByteCount(3 * (55 + 77 + 2 * 35) * 4));
  gemm.type = DataType::kBf16;
  EXPECT_EQ(bytes_moved(Operation(gemm)), ByteCount(3 * (55 + 77 + 2 * 35) * 2));
}

TEST(Operation, ACausalTileSeesTheKeysUpToItsLastRow) {
  // 10 rows in tiles of 4: rows [0,4) see 4 keys, [4,8) see 8, [8,10) see 10.
  const Attention causal = attention(AttentionMask::kCausal, 10, 10, 4);
  ASSERT_EQ(attention_tiles(causal), 3);
  const std::int64_t first[] = {0, 4, 8};
  const std::int64_t rows[] = {4, 4, 2};
  const std::int64_t keys[] = {4, 8, 10};
  for (int t = 0; t < 3; ++t) {
    EXPECT_EQ(attention_tile(causal, t).first_row, first[t]);
    EXPECT_EQ(attention_tile(causal, t).rows, rows[t]);
    EXPECT_EQ(attention_tile(causal, t).keys, keys[t]);
  }
  // Forward: 2 products of 2 rows keys d, over 2 sequences and 6 heads.
  EXPECT_EQ(attention_flops(causal), FlopCount(2 * 6 * 2 * 2 * (4 * 4 + 4 * 8 + 2 * 10) * 16));
}

TEST(Operation, WithoutAMaskEveryTileSeesEveryKey) {
  const Attention full = attention(AttentionMask::kNone, 10, 7, 4);
  for (int t = 0; t < 3; ++t) {
    EXPECT_EQ(attention_tile(full, t).keys, 7);
  }
  EXPECT_EQ(attention_flops(full), FlopCount(2 * 6 * 2 * 2 * 10 * 7 * 16));
}

TEST(Operation, AttentionFlopsAreTheSumOverItsTiles) {
  for (const AttentionMask mask : {AttentionMask::kNone, AttentionMask::kCausal}) {
    for (const AttentionPass pass : {AttentionPass::kForward, AttentionPass::kBackward}) {
      for (std::int64_t queries = 1; queries <= 17; ++queries) {
        for (std::int64_t before = 0; before <= 5; before += 5) {
          for (std::int64_t tile = 1; tile <= 20; ++tile) {
            Attention a = attention(mask, queries, queries + before, tile);
            a.pass = pass;
            std::int64_t rows = 0;
            std::int64_t pairs = 0;
            for (std::int64_t t = 0; t < attention_tiles(a); ++t) {
              EXPECT_EQ(attention_tile(a, t).first_row, rows);
              rows += attention_tile(a, t).rows;
              pairs += attention_tile(a, t).rows * attention_tile(a, t).keys;
            }
            EXPECT_EQ(rows, queries);
            const std::int64_t products = pass == AttentionPass::kForward ? 2 : 5;
            EXPECT_EQ(attention_flops(a), FlopCount(2 * 6 * products * 2 * pairs * 16));
          }
        }
      }
    }
  }
}

TEST(Operation, SmallTilesApproachHalfTheSquare) {
  // With one row a tile the pairs are s (s + 1) / 2, exactly the causal triangle.
  const Attention causal = attention(AttentionMask::kCausal, 64, 64, 1);
  EXPECT_EQ(attention_flops(causal), FlopCount(2 * 6 * 2 * 2 * (64 * 65 / 2) * 16));
}

TEST(Operation, AttentionMovesItsOperandsOnce) {
  // Q and O: 2 * 6 * 10 * 16 = 1920 elements; K and V: 2 * 3 * 10 * 16 = 960; log-sum-exp 120 rows.
  Attention a = attention(AttentionMask::kCausal, 10, 10, 4);
  EXPECT_EQ(bytes_moved(Operation(a)), ByteCount((2 * 1920 + 2 * 960) * 4 + 120 * 4));
  a.pass = AttentionPass::kBackward;  // Q, O, dO, dQ and K, V, dK, dV
  EXPECT_EQ(bytes_moved(Operation(a)), ByteCount((4 * 1920 + 4 * 960) * 4 + 120 * 4));
}

TEST(Operation, ElementwiseWorkIsBytesWithoutFlops) {
  const Elementwise copy{ElementwiseKernel::kCopy, 10, ByteCount(40), ByteCount(48)};
  EXPECT_EQ(flops(Operation(copy)), FlopCount(0));
  EXPECT_EQ(bytes_moved(Operation(copy)), ByteCount(88));
}

TEST(Segment, FlopsOfAListAreTheSumOfItsOperations) {
  Gemm gemm;
  gemm.m = 5;
  gemm.n = 7;
  gemm.k = 11;
  const Attention a = attention(AttentionMask::kCausal, 10, 10, 4);
  EXPECT_EQ(flops(std::vector<Operation>{gemm, Elementwise{}, a, gemm}),
            FlopCount(2 * 2 * 5 * 7 * 11) + attention_flops(a));
  EXPECT_EQ(flops(std::vector<Operation>{}), FlopCount(0));
}

}  // namespace
}  // namespace trainyard
