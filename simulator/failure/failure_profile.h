// FailureProfile: what is published of how a fleet fails and recovers, each number with its range and its source.
//
//   failures     classes by component: rate, arrivals, detection, what one takes down, repair
//   corruption   stored-bit upsets and compute errors, what they do to a value, detectors
//   recovery     detection, restart stages by scale, storage, timeouts, spares
//   stragglers   slow nodes
//
// Files: models/failures/*.json ("document": "failure_profile"), docs/file_formats.md. Rates carry their exposure as
// text ("3.79 per 1000 node-days", failure_rate.h), other quantities their unit. What a plan on a cluster makes of it:
// profile_resolution.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/recovery_policy.h"
#include "core/units/quantity.h"
#include "simulator/failure/failure_rate.h"

namespace trainyard::simulator {

constexpr int kFailureProfileSchema = 1;

// A published number. low and high: the range that sources span, equal to the value where only one is known.
template <class T>
struct Published {
  T value{};
  T low{};
  T high{};
  std::string source;
};

enum class Component : std::uint8_t {
  kGpu,
  kGpuMemory,
  kNic,
  kCable,
  kSwitch,
  kHost,  // CPU, DRAM, board, disk, fan
  kPower,
  kSoftware,
  kStorage,
  kMaintenance,  // by people, unplanned
  kUnknown,
};
std::string_view to_string(Component component);  // "gpu", "gpu_memory", ...

// What one failure makes unusable. The cluster's graph says which nodes those are (fault_domains.h).
enum class FaultDomain : std::uint8_t {
  kProcess,  // a rank's process: the device is good
  kGpu,      // one device; its node leaves the job
  kNode,
  kRack,  // hosts of a rack, or an NVLink domain of several
  kLeaf,  // hosts that reach the fabric through this leaf switch alone
  kPowerDomain,
  kJob,  // every rank: storage, scheduler, a fabric-wide outage
};
std::string_view to_string(FaultDomain domain);  // "process", "gpu", "node", ...

// Lognormal, cut off at `limit`.
struct PublishedRepair {
  std::string name;  // "node", "cable", ...
  Published<Seconds> median;
  Published<double> log_sigma;
  Seconds limit;
};

struct PublishedFailure {
  std::string name;
  Component component = Component::kUnknown;
  Published<PerSecond> rate;  // of each
  Exposure of = Exposure::kNode;
  FaultDomain takes_down = FaultDomain::kNode;
  std::optional<Published<double>> weibull_shape;  // of the times between failures; none: exponential
  Published<double> silent;                        // share that only a watchdog sees
  Published<double> process_restart;               // share that needs no other node
  std::string repair;                              // name of a PublishedRepair
};

// Of one thing that a value can become when a device computes wrongly.
struct ValueModel {
  double zeroed = 0.0;
  double bit_flip = 0.0;
  double not_finite = 0.0;
  double single_bit = 0.0;  // of the bit flips
  std::string source;
};

struct PublishedCorruption {
  Published<PerSecond> incidents;          // of each GPU: compute errors that were found
  Published<double> defective_devices;     // share of devices that fire
  Published<PerSecond> memory_errors;      // of each GB: uncorrectable
  Published<double> memory_errors_missed;  // stored-bit errors that ECC doesn't flag, per uncorrectable one
  double altitude_factor = 1.0;            // of neutron flux over sea level: sensitivity only
  ValueModel values;
  Published<double> compute_checksums;  // the accelerator checks its own products
};

struct PublishedDetector {
  DetectorKind kind = DetectorKind::kLossSpike;
  Published<double> coverage;         // of what it can see at all (detector.h)
  Published<double> overhead;         // of the step
  Published<PerSecond> false_alarms;  // of the job
  Published<Seconds> alarm_cost;      // of looking into one
  Published<Seconds> latency;
};

struct InitTime {
  std::int64_t gpus = 0;
  Published<Seconds> time;
};

struct PublishedRecovery {
  Published<Seconds> detect_explicit;
  Published<Seconds> hang_timeout;  // when a silent stop is seen
  Published<Seconds> schedule;      // evict, find other nodes
  Published<Seconds> spare_join;    // the same with a hot spare
  Published<Seconds> provision;     // a node from elsewhere where spares have run out
  Published<Seconds> process_start;
  Published<Seconds> in_process;            // abort and reset inside living processes
  std::vector<InitTime> communicator_init;  // by scale, ascending; log-log between, linear in GPUs beyond
  Published<Seconds> warm_up;               // first step: compilation, caches, data
  Published<double> restart_log_sigma;      // of the whole restart: heavy tail
  Published<Seconds> replica_stall;         // everyone waits while a replica is dropped
  Published<Seconds> replica_rebuild;       // until it is back
  Published<Seconds> reshard;               // to another layout, on top of a restart
  Published<PerSecond> planned_stops;       // of the job: announced, saved before
  Published<double> hot_spares;             // share of nodes
};

struct PublishedStorage {
  Published<BytesPerSecond> write;  // all clients together
  Published<BytesPerSecond> read;
  Published<BytesPerSecond> node;       // a node's front-end NICs, where the cluster's graph has none
  Published<Seconds> blocking;          // of a save: planning and barriers, on top of the copy to host memory
  Published<double> host_link_share;    // of the host link's bandwidth that the copy reaches
  Published<BytesPerSecond> host_link;  // where the accelerator's file has none
  Published<double> unusable;           // share of loads that find the newest save unusable
};

struct PublishedStragglers {
  Published<double> slow_nodes;    // share of nodes at any time
  Published<double> slowdown;      // of such a node's steps, over 1: 0.1 is 10 % longer
  Published<double> speed_spread;  // standard deviation over mean between devices, thermal and by manufacture
  std::int64_t measured_gpus = 1;  // whose slowest one is in step times already
  Published<PerSecond> episodes;   // of the job: flapping links, throttling
  Published<Seconds> episode_duration;
  Published<double> episode_slowdown;
};

struct FailureProfile {
  std::string name;
  std::string about;
  std::int64_t gpus_per_node = 8;  // that rates per node are of
  std::vector<PublishedFailure> failures;
  // 1, and how far whole fleets lie apart: scales the rates of all classes together, so that their ranges don't cancel.
  Published<double> fleet_factor;
  std::optional<Published<double>> frailty;  // Gamma shape of the rate between nodes; none: equal nodes
  Published<double> refault;                 // share of returned nodes that fail again within a week
  std::int64_t nodes_per_rack = 1;
  std::int64_t nodes_per_power_domain = 1;
  std::string racks_source;
  std::vector<PublishedRepair> repairs;
  PublishedCorruption corruption;
  std::vector<PublishedDetector> detectors;
  PublishedRecovery recovery;
  PublishedStorage storage;
  PublishedStragglers stragglers;
  std::vector<std::string> notes;  // conflicts between sources, limits

  const PublishedRepair& repair(const std::string& name) const;
};

FailureProfile parse_failure_profile(const std::string& text, const std::string& where);
// A file, or a name of models/failures.
FailureProfile open_failure_profile(const std::string& word, const std::string& option = "--failures");

}  // namespace trainyard::simulator
