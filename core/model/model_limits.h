// Largest sizes of a model that are taken at all. Sizes beyond these are slips of the keyboard; within them a
// parameter count fits 64 bits:
//
//   layers * 3 * hidden * feed_forward < 2^(14 + 2 + 20 + 23) = 2^59      elements
//   with experts as well, which a product of its own is checked for
//   multi-token blocks * a layer < 2^(3 + 59) = 2^62
#pragma once

#include <cstdint>

namespace trainyard {

constexpr std::int64_t kMostLayers = std::int64_t{1} << 14;
constexpr std::int64_t kMostHidden = std::int64_t{1} << 20;
constexpr std::int64_t kMostFeedForward = std::int64_t{1} << 23;
constexpr std::int64_t kMostHeads = std::int64_t{1} << 14;
constexpr std::int64_t kMostHeadSize = std::int64_t{1} << 10;
constexpr std::int64_t kMostExperts = std::int64_t{1} << 14;
constexpr std::int64_t kMostMultiTokenLayers = 8;
constexpr double kMostElements = 0x1p59;  // of all layers together, experts too
constexpr std::int64_t kMostVocabulary = std::int64_t{1} << 30;
constexpr std::int64_t kMostPositions = std::int64_t{1} << 40;

}  // namespace trainyard
