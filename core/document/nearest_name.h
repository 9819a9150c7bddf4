// The name that a mistyped one probably meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trainyard {

// Letters to insert, delete or replace, and neighbours to swap, to turn one into the other (Levenshtein 1966,
// Damerau 1964; no letter is touched twice).
int edit_distance(std::string_view a, std::string_view b);

// The nearest of the names, if at most a third of the mistyped name's letters (at least one) differ.
std::optional<std::string> nearest_name(std::string_view mistyped, std::span<const std::string> names);

}  // namespace trainyard
