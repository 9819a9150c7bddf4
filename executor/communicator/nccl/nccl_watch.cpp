#include "executor/communicator/nccl/nccl_watch.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace trainyard::executor {

namespace {
using std::chrono::milliseconds;
}

NcclWatch::NcclWatch(NcclComms& comms, FlightRecorder& recorder, Store& store, Rank rank, const NcclOptions& options,
                     OnFailure on_failure)
    : comms_(comms),
      recorder_(recorder),
      store_(store),
      rank_(rank),
      options_(options),
      on_failure_(std::move(on_failure)) {
  thread_ = std::thread([this] { watch(); });
}

NcclWatch::~NcclWatch() {
  stopping_ = true;
  thread_.join();
}

std::string NcclWatch::key(Rank rank) const { return options_.prefix + "nccl/flight/" + std::to_string(rank.value()); }

void NcclWatch::publish() {
  try {
    store_.set(key(rank_), to_text(recorder_.position()));
  } catch (const Error&) {
    return;  // a store that is gone is its client's to report
  }
}

std::optional<FlightPosition> NcclWatch::position_of(Rank rank) {
  try {
    const auto text = store_.get(key(rank));
    return text ? std::optional(parse_flight_position(*text)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string NcclWatch::describe_hang(const Flight& flight) {
  std::map<Rank, std::optional<FlightPosition>> positions;
  std::string who;
  for (const Rank other : flight.others) {
    who += (who.empty() ? "rank " : ", ") + std::to_string(other.value());
    positions[other] = position_of(other);
  }
  const std::string behind = who_is_behind(flight, positions);
  return "no answer from " + who + " for " + std::to_string(options_.timeout.count()) + " ms in " + flight.name +
         ", number " + std::to_string(flight.number) +
         " there: " + (behind.empty() ? "all have posted it or have not said" : behind);
}

std::optional<std::string> NcclWatch::find_failure(Clock::time_point now) {
  if (auto failure = comms_.failure()) {
    const std::optional<Flight> flight = recorder_.longest();
    std::string text = *failure;
    if (flight) {
      text += " during " + flight->name + " with";
      for (const Rank other : flight->others) {
        text += " rank " + std::to_string(other.value());
      }
    }
    return text;
  }
  const std::optional<Flight> flight = recorder_.longest();
  if (flight && now - *flight->begun > options_.timeout) {
    return describe_hang(*flight);
  }
  return std::nullopt;
}

void NcclWatch::watch() {
  const milliseconds between = std::clamp(options_.timeout / 4, milliseconds(10), milliseconds(1000));
  Clock::time_point published = Clock::now() - between;
  while (!stopping_ && !comms_.aborted()) {
    const Clock::time_point now = Clock::now();
    recorder_.update(now);
    if (const auto failure = find_failure(now)) {
      publish();
      on_failure_(*failure);
      return;
    }
    if (now - published >= between) {
      publish();
      published = now;
    }
    std::this_thread::sleep_for(options_.poll_interval);
  }
}

}  // namespace trainyard::executor
