// Names of the keys that launcher and ranks share in the store, after a job's prefix "job/generation/".
#pragma once

#include <string>

namespace trainyard::executor {

inline std::string abort_key(const std::string& prefix) { return prefix + "abort"; }  // value: why
inline std::string heartbeat_key(const std::string& prefix, int rank) {               // value: a counter
  return prefix + "heartbeat/" + std::to_string(rank);
}

inline std::string progress_key(const std::string& prefix, int rank) {  // value: rank_progress.h
  return prefix + "progress/" + std::to_string(rank);
}

}  // namespace trainyard::executor
