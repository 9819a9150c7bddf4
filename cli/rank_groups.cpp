#include "cli/rank_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/units/parse_quantity.h"

namespace trainyard::cli {

namespace {

constexpr std::size_t kMostSizes = 1000;
constexpr const char* kRanksHint = "write ranks as 0-1023, 0,8,16 or 0-127:8";

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else if (c != ' ') {
      parts.back().push_back(c);
    }
  }
  return parts;
}

bool is_digits(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::int32_t> whole_number(const std::string& text) {
  std::int32_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == end && value >= 0;
  return whole ? std::optional(value) : std::nullopt;
}

std::string ranks_hint(std::int32_t limit) {
  return fmt::format("the cluster has {} GPUs: ranks 0 to {}", limit, limit - 1);
}

std::int32_t rank_in(const std::string& text, const std::string& whole_text, std::int32_t limit,
                     const std::string& where) {
  const std::optional<std::int32_t> value = whole_number(text);
  if (!value && is_digits(text)) {
    throw Error("no rank " + text, where, ranks_hint(limit));
  }
  if (!value) {
    throw Error("'" + whole_text + "' is not a list of ranks", where, kRanksHint);
  }
  return *value;
}

void add_range(std::vector<std::int32_t>& ranks, const std::string& text, std::int32_t limit,
               const std::string& where) {
  const std::size_t colon = text.find(':');
  const std::string range = text.substr(0, colon);
  const std::size_t dash = range.find('-');
  const std::int32_t first = rank_in(range.substr(0, dash), text, limit, where);
  const std::int32_t last = dash == std::string::npos ? first : rank_in(range.substr(dash + 1), text, limit, where);
  const std::int32_t step = colon == std::string::npos ? 1 : rank_in(text.substr(colon + 1), text, limit, where);
  if (step == 0 || last < first) {
    throw Error("'" + text + "' is not a range of ranks", where, kRanksHint);
  }
  if (last >= limit) {
    throw Error(fmt::format("no rank {}", last), where, ranks_hint(limit));
  }
  for (std::int64_t rank = first; rank <= last; rank += step) {
    ranks.push_back(static_cast<std::int32_t>(rank));
  }
}

// "64M" is nccl-tests' way to write 64 MiB.
double size_in(std::string text, const std::string& where) {
  constexpr double kMost = 1e18;
  const bool short_form = text.size() > 1 && std::string_view("kKmMgGtT").find(text.back()) != std::string_view::npos &&
                          text[text.size() - 2] >= '0' && text[text.size() - 2] <= '9';
  if (short_form) {
    text.back() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
    text += "iB";
  }
  const double bytes = parse_quantity<Bytes>(text, where).si();
  if (bytes > kMost) {
    throw Error("'" + text + "' is more than any message: 1 EB", where, "write sizes as 64MiB, 8B:8GiB or 1MiB:1GiB:4");
  }
  if (bytes != std::floor(bytes)) {
    throw Error("'" + text + "' is not a whole number of bytes", where, "1000 B, say, or 1KiB");
  }
  return bytes;
}

void add_sizes(std::vector<double>& sizes, const std::string& text, const std::string& where) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() > 3) {
    throw Error("'" + text + "' is not a range of sizes", where, "write sizes as 64MiB, 8B:8GiB or 1MiB:1GiB:4");
  }
  const double first = size_in(parts[0], where);
  const double last = parts.size() > 1 ? size_in(parts[1], where) : first;
  double factor = 2.0;
  if (parts.size() > 2) {
    factor = static_cast<double>(whole_number(parts[2]).value_or(0));
  }
  if (first < 1.0 || last < first || factor < 2.0) {
    throw Error("'" + text + "' is not a range of sizes", where,
                "from a size of at least 1 B up to a larger one, by a whole factor of at least 2: 1MiB:1GiB:4");
  }
  for (double size = first; size <= last; size *= factor) {
    sizes.push_back(size);
  }
}

}  // namespace

std::vector<std::int32_t> parse_ranks(const std::string& text, std::int32_t limit, const std::string& where) {
  std::vector<std::int32_t> ranks;
  for (const std::string& part : split(text, ',')) {
    add_range(ranks, part, limit, where);
    if (ranks.size() > static_cast<std::size_t>(limit)) {
      throw Error("a rank is named twice", where, "each rank once");
    }
  }
  std::vector<std::int32_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    throw Error(fmt::format("rank {} is named twice", *twice), where, "each rank once");
  }
  return ranks;
}

std::vector<std::vector<std::int32_t>> make_groups(const std::vector<std::int32_t>& ranks,
                                                   const GroupOptions& options) {
  const auto stride = static_cast<std::size_t>(options.stride);
  constexpr const char* kFlags = "--group-size, --group-stride";
  if (ranks.size() < 2 || options.size == 1) {
    throw Error("a group of one rank: a collective needs two", ranks.size() < 2 ? "--ranks" : "--group-size",
                ranks.size() < 2 ? "name more ranks: 0-7" : "0 makes groups as large as the stride leaves");
  }
  const std::size_t size = options.size > 0 ? static_cast<std::size_t>(options.size) : ranks.size() / stride;
  if (options.size <= 0 && size < 2) {
    throw Error(fmt::format("a stride of {} over {} ranks leaves no two of them in a group", stride, ranks.size()),
                "--group-stride", fmt::format("at most {}", ranks.size() / 2));
  }
  if (ranks.size() % (size * stride) != 0) {
    throw Error(fmt::format("{} ranks don't divide into groups of {} with stride {}", ranks.size(), size, stride),
                kFlags, "size x stride must divide the number of ranks");
  }
  std::vector<std::vector<std::int32_t>> groups;
  for (std::size_t block = 0; block < ranks.size(); block += size * stride) {
    for (std::size_t offset = 0; offset < stride; ++offset) {
      std::vector<std::int32_t> group;
      for (std::size_t i = 0; i < size; ++i) {
        group.push_back(ranks[block + offset + i * stride]);
      }
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

std::vector<double> parse_sizes(const std::string& text, const std::string& where) {
  std::vector<double> sizes;
  for (const std::string& part : split(text, ',')) {
    add_sizes(sizes, part, where);
    if (sizes.size() > kMostSizes) {
      throw Error(fmt::format("more than {} sizes", kMostSizes), where, "a larger factor, as in 8B:8GiB:4");
    }
  }
  return sizes;
}

}  // namespace trainyard::cli
