// Bounds on what a topology file may hold, so that no file can take all memory or stall the tool.
//
// Far above any cluster in being (100,000 GPUs are about 1,000,000 vertices), far below a machine's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/units/count.h"

namespace trainyard {

constexpr ByteCount kImportFileLimit = ByteCount(std::int64_t{256} << 20);
constexpr std::size_t kTreeFileLimit = std::size_t{16} << 20;  // XML and YAML, held as a tree while they are read
constexpr std::size_t kTreeElementLimit = 1'000'000;
constexpr int kTreeDepthLimit = 64;
constexpr std::size_t kImportVertexLimit = 2'000'000;
// Of a few bytes of text, "srv[1-1000000]": the largest clusters have some 25,000 hosts.
constexpr std::size_t kImportHostLimit = 65'536;
constexpr std::size_t kImportLinkLimit = 4'000'000;
constexpr std::size_t kMostDeviceTypes = 4'096;  // they are looked up one after the other
constexpr std::size_t kNodeDeviceLimit = 4'096;  // GPUs, NICs and switches inside one host

}  // namespace trainyard
