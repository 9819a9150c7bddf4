// Times as people log them, in seconds: a number as it is, or an ISO 8601 date and time since 1970 (UTC unless it
// says).
//
//   "86400"  "2023-05-01"  "2023-05-01 12:30"  "2023-05-01T12:30:00.5Z"  "2023-05-01T12:30:00+08:00"  also with slashes
#pragma once

#include <optional>
#include <string_view>

namespace trainyard::simulator {

// Nothing where it is neither.
std::optional<double> parse_timestamp(std::string_view text);

}  // namespace trainyard::simulator
