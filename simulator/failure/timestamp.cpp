#include "simulator/failure/timestamp.h"

#include <chrono>
#include <cstdint>

#include "core/import/text_lines.h"

namespace trainyard::simulator {
namespace {

class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  bool empty() const { return rest_.empty(); }
  bool take(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }
  bool take_any(std::string_view wanted) {
    for (const char c : wanted) {
      if (take(c)) {
        return true;
      }
    }
    return false;
  }
  // At least `least` and at most `most` digits.
  std::optional<int> digits(std::size_t least, std::size_t most) {
    std::size_t count = 0;
    int value = 0;
    while (count < most && count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9') {
      value = 10 * value + (rest_[count++] - '0');
    }
    if (count < least) {
      return std::nullopt;
    }
    rest_.remove_prefix(count);
    return value;
  }
  // The part behind a decimal point.
  double fraction() {
    double unit = 0.1;
    double value = 0.0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value += unit * (rest_.front() - '0');
      unit /= 10.0;
      rest_.remove_prefix(1);
    }
    return value;
  }

 private:
  std::string_view rest_;
};

std::optional<double> read_date(TimeReader& in) {
  const std::optional<int> year = in.digits(4, 4);
  if (!year || !in.take_any("-/")) {
    return std::nullopt;
  }
  const std::optional<int> month = in.digits(1, 2);
  if (!month || !in.take_any("-/")) {
    return std::nullopt;
  }
  const std::optional<int> day = in.digits(1, 2);
  if (!day) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) {
    return std::nullopt;
  }
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count()) * 86400.0;
}

// hours:minutes[:seconds[.fraction]]
std::optional<double> read_clock(TimeReader& in) {
  const std::optional<int> hours = in.digits(1, 2);
  if (!hours || *hours > 24 || !in.take(':')) {
    return std::nullopt;
  }
  const std::optional<int> minutes = in.digits(2, 2);
  if (!minutes || *minutes > 59) {
    return std::nullopt;
  }
  double seconds = 0.0;
  if (in.take(':')) {
    const std::optional<int> whole = in.digits(2, 2);
    if (!whole || *whole > 60) {
      return std::nullopt;
    }
    seconds = *whole + (in.take_any(".,") ? in.fraction() : 0.0);
  }
  return *hours * 3600.0 + *minutes * 60.0 + seconds;
}

// Z, +08:00, -0500, or nothing.
std::optional<double> read_zone(TimeReader& in) {
  if (in.empty() || in.take_any("Zz")) {
    return 0.0;
  }
  const bool east = in.take('+');
  if (!east && !in.take('-')) {
    return std::nullopt;
  }
  const std::optional<int> hours = in.digits(2, 2);
  in.take(':');
  const std::optional<int> minutes = in.digits(2, 2);
  if (!hours) {
    return std::nullopt;
  }
  const double offset = *hours * 3600.0 + minutes.value_or(0) * 60.0;
  return east ? -offset : offset;
}

}  // namespace

std::optional<double> parse_timestamp(std::string_view text) {
  text = trimmed(text);
  if (const std::optional<double> number = finite_number(text)) {
    return number;
  }
  TimeReader in(text);
  const std::optional<double> date = read_date(in);
  if (!date || in.empty()) {
    return date;
  }
  if (!in.take_any("Tt ")) {
    return std::nullopt;
  }
  const std::optional<double> clock = read_clock(in);
  if (!clock) {
    return std::nullopt;
  }
  in.take(' ');
  const std::optional<double> zone = read_zone(in);
  return zone && in.empty() ? std::optional(*date + *clock + *zone) : std::nullopt;
}

}  // namespace trainyard::simulator
