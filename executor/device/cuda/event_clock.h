// EventClock: when slices of work on a GPU's streams began and ended, on the host's clock.
//
// A slice's edge is an event in the stream. Events tell the time between two of them only, so one event, recorded on
// an idle device, is tied to CLOCK_MONOTONIC; the others are read against it. It is tied anew at every read, since
// cudaEventElapsedTime's float loses a microsecond after 16 seconds.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "core/units/quantity.h"

namespace trainyard::executor {

class EventClock {
 public:
  explicit EventClock(cudaStream_t idle);
  ~EventClock();
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  // *time is set by the read() that follows the stream's reaching this point.
  void mark(cudaStream_t stream, Nanoseconds* time);
  // The streams are empty. Sets all marked times.
  void read();
  void forget();  // after a failure: the marked times stay as they are

 private:
  struct Mark {
    Nanoseconds* time;
    cudaEvent_t event;
  };
  void tie();
  cudaEvent_t take();

  cudaStream_t idle_;
  cudaEvent_t origin_ = nullptr;
  Nanoseconds origin_time_ = 0;
  std::vector<Mark> marks_;
  std::vector<cudaEvent_t> free_;
};

}  // namespace trainyard::executor
