// FlightRecorder: the operations that a rank has posted to its GPU's streams and that have not ended yet.
//
// A collective that waits for a peer shows on no host thread: it is a kernel that spins. So each operation lies between
// two marks of its stream; begun and not ended, it is under way, and for too long it hangs. Operations are numbered per
// group or pair of ranks, the same on all members, so that the ranks' positions say who has not come to one.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/units/index.h"
#include "executor/device/gpu_streams.h"

namespace trainyard::executor {

struct Flight {
  std::string name;          // "all_reduce in group 7"
  std::string key;           // of the group or pair, the same on all members
  std::vector<Rank> others;  // who take part beside this rank
  std::int64_t number = 0;   // on the key, from 1
  std::shared_ptr<GpuMark> begin;
  std::shared_ptr<GpuMark> end;  // unset: being posted
  std::optional<std::chrono::steady_clock::time_point> begun;
};

// How many operations a rank has posted on each key, and the name of the last.
struct FlightPosition {
  struct Posted {
    std::int64_t number = 0;
    std::string name;
  };
  std::map<std::string, Posted> keys;
};
std::string to_text(const FlightPosition& position);
FlightPosition parse_flight_position(const std::string& text);  // lines that are none are left out

class FlightRecorder {
 public:
  using Clock = std::chrono::steady_clock;

  // Gives the flight its number. begin is set before the operation is enqueued, end after.
  void take_off(Flight flight);
  void set_end(std::shared_ptr<GpuMark> end);  // of the last one

  // Looks at the marks. Any thread, as all below.
  void update(Clock::time_point now);
  bool under_way();                 // some operation has begun and not ended
  std::optional<Flight> longest();  // of those under way
  FlightPosition position();

 private:
  void drop_ended(Clock::time_point now);

  std::mutex mutex_;
  std::deque<Flight> flights_;  // in the order posted; streams end theirs in order, but not each other's
  FlightPosition position_;
};

// Who of the flight's others has not posted it, by their positions (unset: unknown): "rank 2 has not come to it: its
// last there was number 41 of 42". Empty where all have.
std::string who_is_behind(const Flight& flight, const std::map<Rank, std::optional<FlightPosition>>& positions);

}  // namespace trainyard::executor
