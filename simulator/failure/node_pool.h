// Nodes that aren't in the job: hot spares, and nodes in repair that come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <vector>

namespace trainyard::simulator {

// A node that failed: by which hazard, and how often it fails against the mean, where nodes differ.
struct RepairedNode {
  std::size_t hazard = 0;
  std::optional<double> node;
};

class NodePool {
 public:
  explicit NodePool(std::int64_t spares) : fresh_(spares) {}

  void send_to_repair(const RepairedNode& node, std::optional<double> back_at);
  // Nodes from elsewhere: as many of the next that come back leave in exchange.
  void borrow(std::int64_t nodes) { owed_ += nodes; }
  // Takes in what came back by `clock`.
  void collect(double clock);
  std::int64_t available() const { return fresh_ + static_cast<std::int64_t>(returned_.size()); }
  // A new spare first. One must be available; a returned one says what it was.
  std::optional<RepairedNode> take();
  // The next return; infinite where nothing is in repair that comes back.
  double next_return() const;
  std::int64_t away() const { return away_; }

 private:
  struct Return {
    double time;
    RepairedNode node;
    bool operator>(const Return& other) const { return time > other.time; }
  };
  std::int64_t fresh_;
  std::int64_t away_ = 0;
  std::int64_t owed_ = 0;
  std::deque<RepairedNode> returned_;
  std::priority_queue<Return, std::vector<Return>, std::greater<>> repairs_;
};

}  // namespace trainyard::simulator
