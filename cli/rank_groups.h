// Which ranks of a cluster communicate, as a command line says it.
//
//   ranks    "0-1023", "0,8,16", "0-127:8" (every eighth), and lists of these; in the order given
//   groups   blocks of size x stride ranks of the list; within a block ranks i, i + stride, i + 2 stride, ... are a
//   group
//
// The data-parallel groups of 8-way tensor parallelism are --group-stride 8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::cli {

// Throws Error with `where` for what isn't a list of ranks below `limit`, or names one twice.
std::vector<std::int32_t> parse_ranks(const std::string& text, std::int32_t limit, const std::string& where);

struct GroupOptions {
  int size = 0;  // 0: as many as the stride leaves
  int stride = 1;
};
std::vector<std::vector<std::int32_t>> make_groups(const std::vector<std::int32_t>& ranks, const GroupOptions& options);

// "8B:8GiB", "1MiB:1GiB:4" (a factor of 4 each time), "64MiB", and lists of these. Throws Error with `where`.
std::vector<double> parse_sizes(const std::string& text, const std::string& where);

}  // namespace trainyard::cli
