// JobModel: what the failure model needs to know of one job, resolved from plan, cluster and failure profile to
// numbers, free of files and graphs. Rates are per second of the whole job at full size; times in seconds of wall
// clock.
//
// "Work" is training measured in seconds at full speed with nothing in the way: step_time a step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/recovery_policy.h"
#include "core/units/quantity.h"
#include "simulator/failure/corruption_model.h"
#include "simulator/failure/hazard.h"
#include "simulator/failure/ranged.h"

namespace trainyard::simulator {

// Stops that somebody wants (maintenance, a new version): a checkpoint is made before, no work is lost.
struct PlannedStops {
  Ranged<PerSecond> rate;    // per second of wall clock that isn't such a stop
  Ranged<Seconds> duration;  // from stop to the first step, the restart included
};

// Restart by stages, at this job's scale. What a way of recovery goes through is in restart_path.h.
struct RestartStages {
  Ranged<Seconds> evict;          // decide which nodes, take them out
  Ranged<Seconds> schedule;       // get and boot other nodes
  Ranged<Seconds> spare_join;     // the same, where a hot spare waits
  Ranged<Seconds> process_start;  // start the processes, import, build the model
  Ranged<Seconds> in_process;     // abort and reset inside living processes, instead of process_start
  Ranged<Seconds> communicator_init;
  Ranged<Seconds> load_storage;  // everyone reads the state at once
  Ranged<Seconds> load_memory;   // from host memory or from peers
  Ranged<Seconds> warm_up;       // first steps, slower: the time they take longer
  double tail_sigma = 0.0;       // log-normal spread of a whole restart around its mean; 0: none
};

struct CheckpointLevel {
  Seconds interval;          // of work between saves
  Ranged<Seconds> blocking;  // training stands still
  Ranged<Seconds> write;     // in the background until the save counts; 0 where the save is synchronous
};

struct Checkpoints {
  CheckpointLevel storage;
  std::optional<CheckpointLevel> memory;  // in host memory, this node's or a peer's; the storage interval is a multiple
  std::int64_t keep = 2;                  // storage saves that are kept
  std::optional<Seconds> archive_interval;  // of work between saves kept for good; nothing: only the start is
  Ranged<double> unusable_share;            // of loads from storage, those that find the newest save unusable
  Bytes state;                              // of the whole job
  Bytes largest_shard;                      // of one rank
};

// Data-parallel copies of the model, for policies that go on without some.
struct Replicas {
  std::int64_t count = 1;
  std::int64_t nodes_each = 1;
  Ranged<Seconds> stall;    // everyone waits: agree on who is left, reconfigure
  Ranged<Seconds> rebuild;  // the lost replica is brought back while the others go on
  Ranged<Seconds> reshard;  // shrink: new layout on fewer nodes, on top of a restart
};

struct Spares {
  std::int64_t nodes = 0;
  double variance_to_mean = 1.0;     // of the count of nodes down at once: above 1 with bursts and bad nodes
  std::optional<Seconds> provision;  // a node from elsewhere where spares have run out; nothing: wait for a repair
};

struct Stragglers {
  Ranged<double> slowdown;         // share by which the slowest rank prolongs every step
  Ranged<PerSecond> episode_rate;  // flapping links, throttling: passing slowness, per second of the job
  Ranged<Seconds> episode_duration;
  Ranged<double> episode_slowdown;
};

struct JobModel {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;
  Seconds step_time;  // undisturbed
  double tokens_per_step = 0.0;
  Seconds length = from_si<Seconds>(54.0 * 86400.0);  // of work: what is lost where the job must begin again

  Ranged<double> fleet_factor = exactly(1.0);  // scales all rates together: whole fleets lie apart
  std::vector<Hazard> hazards;
  std::optional<double> frailty;  // Gamma shape k of the nodes' rates
  bool recovery_can_fail = true;  // failures come during recovery too; false: formula 2(a) of reliability.h
  PlannedStops planned;
  RestartStages restart;
  Checkpoints checkpoints;
  Replicas replicas;
  Spares spares;
  Stragglers stragglers;
  CorruptionModel corruption;
  RecoveryPolicy policy;
};

// Throws Error naming the quantity: negative or not finite, low above value, a share outside 0 to 1, no nodes, ...
void validate(const JobModel& job);

}  // namespace trainyard::simulator
