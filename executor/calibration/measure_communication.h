// Measures what communication costs on this machine, with all ranks of a job at work.
//
// For each collective, algorithm and group size, times over payload sizes (from which the simulator fits
// alpha + bytes / bandwidth or interpolates), and how much slower compute and communication are when a rank
// does both at once: they share cores and memory bandwidth.
//
// All ranks call these with the same options; all get the same result, the slowest rank's.
#pragma once

#include <vector>

#include "core/plan/device_profile.h"
#include "executor/communicator/communicator.h"
#include "executor/device/device.h"

namespace trainyard::executor {

struct MeasureCommunicationOptions {
  ByteCount smallest = ByteCount(1 << 10);
  ByteCount largest = ByteCount(32 << 20);
  std::int64_t size_factor = 4;
  // Trees, and direct all-reduce and broadcast, are for small payloads: (n-1) or log2 n times the volume.
  ByteCount largest_small_algorithm = ByteCount(1 << 20);
  int least_repeats = 5;
  int most_repeats = 25;
  Seconds time_per_sample = from_si<Seconds>(0.1);  // how long to repeat, within the two numbers above
};

// Group sizes from 2 to all ranks.
std::vector<CollectiveSample> measure_collectives(Device& device, Communicator& communicator,
                                                  const MeasureCommunicationOptions& options = {});

// Matrix products on the compute stream beside ring all-reduces on the data stream, by group size.
std::vector<OverlapSlowdown> measure_overlap(Device& device, Communicator& communicator);

}  // namespace trainyard::executor
