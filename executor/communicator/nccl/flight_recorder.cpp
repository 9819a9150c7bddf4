#include "executor/communicator/nccl/flight_recorder.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "core/error.h"

namespace trainyard::executor {

std::string to_text(const FlightPosition& position) {
  std::string text;
  for (const auto& [key, posted] : position.keys) {
    text += key + '\t' + std::to_string(posted.number) + '\t' + posted.name + '\n';
  }
  return text;
}

FlightPosition parse_flight_position(const std::string& text) {
  FlightPosition position;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find('\t');
    const std::size_t second = line.find('\t', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) {
      continue;
    }
    FlightPosition::Posted posted;
    const char* end = line.data() + second;
    const auto parsed = std::from_chars(line.data() + first + 1, end, posted.number);
    if (parsed.ec == std::errc() && parsed.ptr == end) {
      posted.name = line.substr(second + 1);
      position.keys[line.substr(0, first)] = std::move(posted);
    }
  }
  return position;
}

void FlightRecorder::take_off(Flight flight) {
  const std::scoped_lock lock(mutex_);
  FlightPosition::Posted& posted = position_.keys[flight.key];
  flight.number = ++posted.number;
  posted.name = flight.name;
  flights_.push_back(std::move(flight));
}

void FlightRecorder::set_end(std::shared_ptr<GpuMark> end) {
  const std::scoped_lock lock(mutex_);
  // Between take_off() and this none is added, but the last may not be at the back only if it ended: it can't have.
  check(!flights_.empty() && flights_.back().end == nullptr, "an operation ends once");
  flights_.back().end = std::move(end);
}

void FlightRecorder::drop_ended(Clock::time_point now) {
  std::erase_if(flights_, [](const Flight& flight) { return flight.end != nullptr && flight.end->reached(); });
  for (Flight& flight : flights_) {
    if (!flight.begun && flight.begin->reached()) {
      flight.begun = now;
    }
  }
}

void FlightRecorder::update(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  drop_ended(now);
}

bool FlightRecorder::under_way() {
  const std::scoped_lock lock(mutex_);
  drop_ended(Clock::now());
  return std::any_of(flights_.begin(), flights_.end(), [](const Flight& flight) { return flight.begun.has_value(); });
}

std::optional<Flight> FlightRecorder::longest() {
  const std::scoped_lock lock(mutex_);
  std::optional<Flight> found;
  for (const Flight& flight : flights_) {
    if (flight.begun && (!found || *flight.begun < *found->begun)) {
      found = flight;
    }
  }
  return found;
}

FlightPosition FlightRecorder::position() {
  const std::scoped_lock lock(mutex_);
  return position_;
}

std::string who_is_behind(const Flight& flight, const std::map<Rank, std::optional<FlightPosition>>& positions) {
  std::string text;
  for (const Rank rank : flight.others) {
    const auto found = positions.find(rank);
    if (found == positions.end() || !found->second) {
      continue;
    }
    const auto posted = found->second->keys.find(flight.key);
    const std::int64_t number = posted == found->second->keys.end() ? 0 : posted->second.number;
    if (number < flight.number) {
      text += (text.empty() ? "" : "; ") + ("rank " + std::to_string(rank.value())) + " has not come to it (" +
              std::to_string(number) + " of " + std::to_string(flight.number) + " there)";
    }
  }
  return text;
}

}  // namespace trainyard::executor
