#include "simulator/failure/trace_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/random/philox.h"
#include "simulator/failure/job_run.h"

namespace trainyard::simulator {
namespace {

// How the job comes back after losing a node: means over the hazards that lose nodes, or over all where none does.
struct NodeLoss {
  double detection = 0.0;
  double restart = 0.0;
  double restart_from_storage = 0.0;
  double from_memory = 0.0;  // share
};

NodeLoss node_loss(const RecoveryPaths& paths, const JobModel& job) {
  const bool any = std::any_of(paths.paths.begin(), paths.paths.end(), [](const auto& p) { return p.nodes_lost > 0; });
  NodeLoss mean;
  double shares = 0.0;
  for (const RecoveryPath& path : paths.paths) {
    if (any && path.nodes_lost == 0) {
      continue;
    }
    shares += path.share;
    mean.detection +=
        path.share * ((1.0 - path.silent_share) * path.detection + path.silent_share * path.silent_detection);
    mean.restart += path.share * path.restart;
    mean.restart_from_storage += path.share * path.restart_from_storage;
    mean.from_memory += path.from_memory ? path.share : 0.0;
  }
  if (shares <= 0.0) {
    throw Error("the job has no failures to recover from", "replay of a trace",
                fmt::format("choose a failure profile for its {} nodes", job.nodes));
  }
  mean.detection /= shares;
  mean.restart /= shares;
  mean.restart_from_storage /= shares;
  mean.from_memory /= shares;
  return mean;
}

class TraceReplay {
 public:
  TraceReplay(const JobModel& job, const IncidentTrace& trace, const ReplayRequest& request)
      : setup_(job),
        trace_(trace),
        loss_(node_loss(setup_.paths, job)),
        progress_(setup_.period, setup_.pace.segment_work),
        random_(request.seed, 0),
        down_(static_cast<std::size_t>(fleet_size(trace, request.fleet))),
        in_job_(down_.size()),
        clock_(trace.begin) {
    if (job.nodes > static_cast<std::int64_t>(down_.size())) {
      throw Error(fmt::format("the job needs {} nodes, the trace's fleet has {}", job.nodes, down_.size()),
                  "replay of a trace", "give the fleet's size, or a smaller job");
    }
    std::vector<std::size_t> order(down_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&request](std::size_t a, std::size_t b) {
      return random_bits(request.seed, 1, a) < random_bits(request.seed, 1, b);
    });
    for (std::size_t i = 0; i < static_cast<std::size_t>(job.nodes); ++i) {
      in_job_[order[i]] = true;
    }
  }

  ReplayResult replay() {
    while (clock_ < trace_.end) {
      const double start = next_start();
      run_until(std::min(start, trace_.end));
      if (start < trace_.end && start_next()) {
        recover();
      }
    }
    const double wall = trace_.end - trace_.begin;
    TimeUses& uses = result_.shares;
    uses[TimeUse::kUseful] += progress_.work();
    uses[TimeUse::kStragglers] += progress_.work() * setup_.pace.stragglers;
    uses[TimeUse::kDetectors] += progress_.work() * (1.0 + setup_.pace.stragglers) * setup_.pace.detectors;
    for (double& use : uses.of) {
      use /= wall;
    }
    result_.goodput = progress_.work() / wall;
    return std::move(result_);
  }

 private:
  double next_start() const {
    return next_ < trace_.incidents.size() ? trace_.incidents[next_].start : trace_.end + 1.0;
  }

  // Takes the next incident; true where it hits the job. The node is down until the end of it.
  bool start_next() {
    const Incident& incident = trace_.incidents[next_++];
    down_[incident.node] = std::max(down_[incident.node], incident.end);
    const bool hit = in_job_[incident.node];
    if (hit) {
      in_job_[incident.node] = false;
      ++missing_;
      ++result_.failures;
      cause_ = trace_.nodes[incident.node];
    }
    return hit;
  }

  void run_until(double time) {
    const double wall = time - clock_;
    if (wall > 0.0) {
      const ProgressAmount gained = progress_.run(wall, 1.0);
      result_.shares[TimeUse::kBlockingSaves] += gained.blocking;
      pass(time, TimeUse::kUseful, false);
    }
  }

  void pass(double time, TimeUse use, bool counts = true) {
    if (time <= clock_) {
      return;
    }
    if (counts) {
      result_.shares[use] += time - clock_;
    }
    const auto at = [this](double t) { return from_si<Seconds>(t - trace_.begin); };
    result_.timeline.push_back(
        {at(clock_), at(time), use, use == TimeUse::kUseful ? std::string() : cause_, progress_.work()});
    clock_ = time;
  }

  // Stands for `wall`, cut by the next incident that hits the job: true then.
  bool stand(double wall, TimeUse use) {
    const double end = std::min(clock_ + wall, trace_.end);
    while (next_start() < end) {
      pass(next_start(), use);
      if (start_next()) {
        ++result_.in_recovery;
        return true;
      }
    }
    pass(end, use);
    return false;
  }

  // Puts nodes that are up in the place of lost ones.
  void fill() {
    for (std::size_t node = 0; node < down_.size() && missing_ > 0; ++node) {
      if (!in_job_[node] && down_[node] <= clock_) {
        in_job_[node] = true;
        --missing_;
      }
    }
  }

  double next_return() const {
    double next = trace_.end;
    for (std::size_t node = 0; node < down_.size(); ++node) {
      if (!in_job_[node] && down_[node] > clock_) {
        next = std::min(next, down_[node]);
      }
    }
    return next;
  }

  void recover() {
    bool memory = true;
    for (;;) {
      memory = memory && random_.uniform() < loss_.from_memory;
      if (stand(loss_.detection, TimeUse::kDetection)) {
        continue;
      }
      fill();
      bool hit = false;
      while (missing_ > 0 && clock_ < trace_.end && !hit) {
        hit = stand(next_return() - clock_, TimeUse::kWaiting);
        fill();
      }
      if (!hit && !stand(memory ? loss_.restart : loss_.restart_from_storage, TimeUse::kRestart)) {
        break;
      }
    }
    const ProgressAmount lost = memory ? progress_.back_to_memory() : progress_.back_to_storage(0);
    result_.shares[TimeUse::kLostWork] += lost.work * setup_.pace.slow() + lost.blocking;
    result_.shares[TimeUse::kBlockingSaves] -= lost.blocking;
  }

  RunSetup setup_;
  const IncidentTrace& trace_;
  NodeLoss loss_;
  TrainingProgress progress_;
  RunRandom random_;
  std::vector<double> down_;  // until when, by node of the fleet
  std::vector<bool> in_job_;
  std::int64_t missing_ = 0;
  std::size_t next_ = 0;
  double clock_;
  std::string cause_;
  ReplayResult result_;
};

}  // namespace

ReplayResult replay_trace(const JobModel& job, const IncidentTrace& trace, const ReplayRequest& request) {
  validate(job);
  return TraceReplay(job, trace, request).replay();
}

}  // namespace trainyard::simulator
