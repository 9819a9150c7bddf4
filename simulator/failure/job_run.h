// One simulated run of a job, event by event: failures by class, hangs, lost nodes and repairs, spares, refaults,
// corruptions that are found late or never, saves in flight, failures during recovery.
//
// Where the rules are the same as the closed form's they are exactly the same (reliability.h); beyond it:
//   - a run waits for a node when spares have run out; failures don't come while it stands
//   - a corruption found goes back to the newest kept save from before it; going back for another reason may undo it
//   - a lost replica chosen at random; all of them down: a restart
//   - shrink: as many replicas as the nodes left can man; every return that mans one more is a restart
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/failure/failure_arrivals.h"
#include "simulator/failure/job_pace.h"
#include "simulator/failure/node_pool.h"
#include "simulator/failure/recovery_paths.h"
#include "simulator/failure/reliability.h"
#include "simulator/failure/training_progress.h"

namespace trainyard::simulator {

// What all runs of a job share.
struct RunSetup {
  explicit RunSetup(const JobModel& model);

  JobModel job;
  CorruptionFlow corruption;
  RecoveryPaths paths;
  JobPace pace;
  CheckpointPeriod period;  // at full speed
  struct Way {
    double up_to = 0.0;  // cumulative share among the hazard's
    std::size_t path = 0;
  };
  std::vector<std::vector<Way>> ways;  // by hazard, NaN or Inf last
};

struct RunLimits {
  double target = 0.0;    // work; 0: none
  double duration = 0.0;  // wall clock at which the run ends (target) or gives up
  std::int64_t failures = 0;
};

struct RunOutcome {
  double wall = 0.0;
  double work = 0.0;
  bool finished = false;
  std::optional<std::string> gave_up;
  TimeUses uses;  // seconds
  std::int64_t failures = 0;
  std::int64_t node_losses = 0;
  std::int64_t corruptions_found = 0;
  std::int64_t corruptions_missed = 0;
  std::int64_t nodes_down_peak = 0;
};

class JobRun {
 public:
  // timeline: filled up to that time, where given.
  JobRun(const RunSetup& setup, RunRandom random, std::vector<TimelineSlice>* timeline = nullptr,
         double timeline_end = 0.0);
  RunOutcome run(const RunLimits& limits);

 private:
  struct DownReplica {
    std::int64_t replica;
    double back_at;
  };
  struct Corruption {
    double work;      // position when it happened
    double found_at;  // wall clock; infinite: never
  };
  enum class Next : std::uint8_t { kFailure, kCorruption, kDiscovery, kPlanned, kEpisode, kChange, kDone, kOutOfTime };

  double replica_speed() const;
  double episode_speed() const;
  double next_change() const;
  double next_discovery() const;
  Next next_event(double speed, double& wait) const;
  bool over();  // a limit is reached: what a recovery without end has to look at
  void run_for(double wall);
  void handle(Next event);

  // Standing still: true when a failure came before the end (the clock is there then).
  bool stand(double wall, TimeUse use, const std::string& cause);
  void pause(double wall, TimeUse use, const std::string& cause);
  void start_corruption();
  void discover();
  void start_episode();
  void planned_stop();
  void change();

  void recover(FailureArrival arrival);
  void drop_replica(FailureArrival arrival, const RecoveryPath* path);
  void take_out(const FailureArrival& arrival, const RecoveryPath& path);
  void fill_from_pool(const FailureArrival& arrival);
  bool wait_for_nodes(const FailureArrival& arrival);
  void go_back(bool to_memory);
  void lose(const ProgressAmount& amount, TimeUse use);
  const RecoveryPath& choose_path(const FailureArrival& arrival);
  double detection_of(const RecoveryPath& path);
  double restart_of(double mean);
  void record(double begin, TimeUse use, const std::string& cause);
  std::string name_of(std::size_t hazard) const;

  const RunSetup& setup_;
  const JobModel& job_;
  RunRandom random_;
  FailureArrivals arrivals_;
  TrainingProgress progress_;
  NodePool pool_;

  double clock_ = 0.0;
  double hazard_clock_ = 0.0;
  double next_corruption_;
  double next_planned_;
  double next_episode_;
  double episode_end_ = 0.0;
  std::vector<DownReplica> down_;
  std::int64_t missing_ = 0;  // nodes lost and not replaced
  std::vector<Corruption> corruptions_;
  RunLimits limits_;
  RunOutcome outcome_;
  std::vector<TimelineSlice>* timeline_;
  double timeline_end_;
};

}  // namespace trainyard::simulator
