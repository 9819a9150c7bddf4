// RankEnvironment: what the launcher tells a rank, through environment variables.
//
//   TRAINYARD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE    numbers
//   TRAINYARD_STORE                                    host:port of the launcher's store
//   TRAINYARD_TOKEN                                    the store's secret; not in argv, which others can read
//   TRAINYARD_PREFIX                                   "job/generation/", in front of the store's keys
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/supervisor/store_client.h"

namespace trainyard::executor {

struct RankEnvironment {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // on its host
  int local_size = 1;
  StoreAddress store;
  std::string prefix;
};

// NAME=VALUE, for a new process.
std::vector<std::string> to_environment(const RankEnvironment& rank);

// From this process's environment; nothing if TRAINYARD_RANK is unset. Throws Error naming a variable that
// is missing or wrong.
std::optional<RankEnvironment> rank_environment();

}  // namespace trainyard::executor
