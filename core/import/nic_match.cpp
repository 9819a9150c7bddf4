#include "core/import/nic_match.h"

#include <algorithm>
#include <numeric>

#include "core/import/text_lines.h"

namespace trainyard {

namespace {

using Positions = std::vector<std::size_t>;

bool distinct(const Positions& positions) {
  return std::set<std::size_t>(positions.begin(), positions.end()).size() == positions.size();
}

}  // namespace

std::optional<std::int32_t> nic_number(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const auto number = whole_number(name.substr(digits), 0, 65535);
  if (!number) {
    return std::nullopt;
  }
  const bool from_one = name.substr(0, digits) == "HCA-" && *number > 0;
  return static_cast<std::int32_t>(*number - (from_one ? 1 : 0));
}

NicMatch::NicMatch(std::vector<std::string> node_nics, const std::set<std::string>& fabric_nics)
    : nics_(std::move(node_nics)) {
  std::set<std::int32_t> seen;
  for (const std::string& nic : nics_) {
    if (const auto number = nic_number(nic); number && seen.insert(*number).second) {
      node_numbers_.push_back(*number);
    }
  }
  if (node_numbers_.size() != nics_.size()) {
    node_numbers_.clear();
  }
  std::set<std::int32_t> numbers;
  for (const std::string& nic : fabric_nics) {
    const auto number = nic_number(nic);
    if (!number) {
      return;
    }
    numbers.insert(*number);
  }
  fabric_numbers_.assign(numbers.begin(), numbers.end());
}

std::optional<Positions> NicMatch::by_name(const std::vector<std::string>& host_nics) const {
  Positions positions;
  for (const std::string& nic : host_nics) {
    const auto found = std::find(nics_.begin(), nics_.end(), nic);
    if (found == nics_.end()) {
      return std::nullopt;
    }
    positions.push_back(static_cast<std::size_t>(found - nics_.begin()));
  }
  return positions;
}

// `numbers`: of the node's NICs, by position.
std::optional<Positions> NicMatch::by_number(const std::vector<std::string>& host_nics,
                                             const std::vector<std::int32_t>& numbers) const {
  Positions positions;
  for (const std::string& nic : host_nics) {
    const auto number = nic_number(nic);
    const auto found = number ? std::find(numbers.begin(), numbers.end(), *number) : numbers.end();
    if (found == numbers.end()) {
      return std::nullopt;
    }
    positions.push_back(static_cast<std::size_t>(found - numbers.begin()));
  }
  return distinct(positions) ? std::optional(positions) : std::nullopt;
}

std::optional<Positions> NicMatch::match(const std::vector<std::string>& host_nics) const {
  if (auto named = by_name(host_nics); named && distinct(*named)) {
    return named;
  }
  // As many numbers in the whole fabric as the node has NICs: in that order, also where a host lacks one.
  if (fabric_numbers_.size() == nics_.size()) {
    if (auto numbered = by_number(host_nics, fabric_numbers_)) {
      return numbered;
    }
  }
  if (auto numbered = by_number(host_nics, node_numbers_)) {
    return numbered;
  }
  if (host_nics.size() == nics_.size()) {
    Positions positions(nics_.size());
    std::iota(positions.begin(), positions.end(), std::size_t{0});
    return positions;
  }
  return std::nullopt;
}

}  // namespace trainyard
