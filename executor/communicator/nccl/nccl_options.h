// NcclOptions: how a rank meets the others through NCCL, and how long it waits for them.
#pragma once

#include <chrono>
#include <string>

namespace trainyard::executor {

struct NcclOptions {
  std::string prefix;                                                       // of the store's keys: job and generation
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(120);    // of one init, split or first use
  std::chrono::milliseconds timeout = std::chrono::minutes(5);              // of one operation that has begun
  std::chrono::milliseconds poll_interval = std::chrono::milliseconds(20);  // of errors and operations under way
};

}  // namespace trainyard::executor
