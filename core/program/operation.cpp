#include "core/program/operation.h"

#include <algorithm>

#include "core/error.h"

namespace trainyard {

namespace {

// Products over keys' size: Q K^T; again, dQ, dK. Over values' size: P V; dV, dP.
constexpr std::int64_t kForwardKeyProducts = 1;
constexpr std::int64_t kForwardValueProducts = 1;
constexpr std::int64_t kBackwardKeyProducts = 3;
constexpr std::int64_t kBackwardValueProducts = 2;
constexpr std::int64_t kLogSumExpBytes = 4;  // fp32 whatever the operands' type

// Keys before the first query's own: the queries are the last ones of the sequence.
std::int64_t keys_before_queries(const Attention& attention) {
  check(attention.keys >= attention.queries, "a causal mask has at least as many keys as queries");
  return attention.keys - attention.queries;
}

// Sum over the tiles of rows * keys: the (query, key) pairs whose scores are computed.
std::int64_t scored_pairs(const Attention& attention) {
  const std::int64_t rows = attention.queries;
  if (attention.mask == AttentionMask::kNone) {
    return rows * attention.keys;
  }
  if (attention.window > 0 && attention.window < attention.keys) {
    std::int64_t pairs = 0;
    for (std::int64_t tile = 0; tile < attention_tiles(attention); ++tile) {
      const AttentionTile part = attention_tile(attention, tile);
      pairs += part.rows * part.keys;
    }
    return pairs;
  }
  // Full tile t of q rows sees b + (t + 1) q keys; a rest of r rows sees all of them.
  const std::int64_t before = keys_before_queries(attention);
  const std::int64_t q = attention.query_tile;
  const std::int64_t full = rows / q;
  const std::int64_t rest = rows % q;
  return q * (full * before + q * (full * (full + 1) / 2)) + rest * attention.keys;
}

ByteCount gemm_bytes(const Gemm& gemm) {
  const std::int64_t c_passes = gemm.accumulate ? 2 : 1;
  const std::int64_t elements = gemm.m * gemm.k + gemm.k * gemm.n + c_passes * gemm.m * gemm.n;
  return ByteCount(gemm.batch * elements * size_of(gemm.type));
}

// Forward reads Q, K, V and writes O; backward reads Q, K, V, O, dO and writes dQ, dK, dV.
ByteCount attention_bytes(const Attention& attention) {
  // Sizes of keys and values, of which there are equally many on either side.
  const std::int64_t sizes = attention.head_size + attention.values();
  const std::int64_t query_side = attention.sequences * attention.query_heads * attention.queries * sizes;
  const std::int64_t key_side = attention.sequences * attention.key_heads * attention.keys * sizes;
  const std::int64_t rows = attention.sequences * attention.query_heads * attention.queries;
  const bool forward = attention.pass == AttentionPass::kForward;
  const std::int64_t elements = forward ? query_side + key_side : 2 * query_side + 2 * key_side;
  return ByteCount(elements * size_of(attention.type) + rows * kLogSumExpBytes);
}

}  // namespace

std::int64_t attention_tiles(const Attention& attention) {
  check(attention.query_tile > 0, "attention has a tile size");
  return (attention.queries + attention.query_tile - 1) / attention.query_tile;
}

AttentionTile attention_tile(const Attention& attention, std::int64_t tile) {
  check(tile >= 0 && tile < attention_tiles(attention), "tile of this attention");
  AttentionTile result;
  result.first_row = tile * attention.query_tile;
  result.rows = std::min(attention.query_tile, attention.queries - result.first_row);
  result.keys = attention.mask == AttentionMask::kNone
                    ? attention.keys
                    : keys_before_queries(attention) + result.first_row + result.rows;
  if (attention.mask == AttentionMask::kCausal && attention.window > 0) {
    result.keys = std::min(result.keys, attention.window + result.rows - 1);
  }
  return result;
}

FlopCount attention_flops(const Attention& attention) {
  check(attention.query_tile > 0, "attention has a tile size");
  const bool forward = attention.pass == AttentionPass::kForward;
  const std::int64_t per_pair = (forward ? kForwardKeyProducts : kBackwardKeyProducts) * attention.head_size +
                                (forward ? kForwardValueProducts : kBackwardValueProducts) * attention.values();
  return FlopCount(attention.sequences * attention.query_heads * 2 * scored_pairs(attention) * per_pair);
}

FlopCount flops(const Operation& operation) {
  if (const auto* gemm = std::get_if<Gemm>(&operation)) {
    return FlopCount(2 * gemm->batch * gemm->m * gemm->n * gemm->k);
  }
  if (const auto* attention = std::get_if<Attention>(&operation)) {
    return attention_flops(*attention);
  }
  return FlopCount();
}

ByteCount bytes_moved(const Operation& operation) {
  if (const auto* gemm = std::get_if<Gemm>(&operation)) {
    return gemm_bytes(*gemm);
  }
  if (const auto* attention = std::get_if<Attention>(&operation)) {
    return attention_bytes(*attention);
  }
  const auto& elementwise = std::get<Elementwise>(operation);
  return elementwise.read + elementwise.written;
}

}  // namespace trainyard
