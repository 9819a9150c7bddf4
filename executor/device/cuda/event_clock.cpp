#include "executor/device/cuda/event_clock.h"

#include <cmath>
#include <limits>
#include <utility>

#include "executor/device/cuda/cuda_check.h"
#include "executor/device/monotonic_clock.h"

namespace trainyard::executor {

EventClock::EventClock(cudaStream_t idle) : idle_(idle) {
  check_cuda(cudaEventCreate(&origin_), "the GPU's clock");
  tie();
}

EventClock::~EventClock() {
  forget();
  for (cudaEvent_t event : free_) {
    cudaEventDestroy(event);
  }
  cudaEventDestroy(origin_);
}

cudaEvent_t EventClock::take() {
  if (free_.empty()) {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreate(&event), "the GPU's clock");
    return event;
  }
  cudaEvent_t event = free_.back();
  free_.pop_back();
  return event;
}

// The event lies between two looks at the host's clock: of a few tries the closest two, and their middle.
void EventClock::tie() {
  Nanoseconds closest = std::numeric_limits<Nanoseconds>::max();
  constexpr int kTries = 3;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    cudaEvent_t event = take();
    const Nanoseconds before = monotonic_now();
    check_cuda(cudaEventRecord(event, idle_), "the GPU's clock");
    check_cuda(cudaEventSynchronize(event), "the GPU's clock");
    const Nanoseconds after = monotonic_now();
    if (after - before < closest) {
      closest = after - before;
      origin_time_ = before + closest / 2;
      std::swap(event, origin_);
    }
    free_.push_back(event);
  }
}

void EventClock::mark(cudaStream_t stream, Nanoseconds* time) {
  marks_.push_back({time, take()});
  check_cuda(cudaEventRecord(marks_.back().event, stream), "the GPU's clock");
}

void EventClock::read() {
  if (marks_.empty()) {
    return;
  }
  for (const Mark& mark : marks_) {
    float milliseconds = 0.0f;
    check_cuda(cudaEventElapsedTime(&milliseconds, origin_, mark.event), "the GPU's clock");
    *mark.time = origin_time_ + static_cast<Nanoseconds>(std::llround(static_cast<double>(milliseconds) * 1e6));
  }
  forget();
  tie();
}

void EventClock::forget() {
  for (const Mark& mark : marks_) {
    free_.push_back(mark.event);
  }
  marks_.clear();
}

}  // namespace trainyard::executor
