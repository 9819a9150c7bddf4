#include <fmt/format.h>

#include <iterator>
#include <set>
#include <utility>

#include "core/plan/trace.h"

namespace trainyard {

namespace {

// "backward_input attention L3 mb2"
std::string slice_name(const Slice& slice) {
  std::string name(to_string(slice.kind));
  if (slice.segment) {
    name += ' ';
    name += to_string(*slice.segment);
  }
  if (slice.layer) {
    name += " L" + std::to_string(*slice.layer);
  }
  if (slice.microbatch) {
    name += " mb" + std::to_string(*slice.microbatch);
  }
  return name;
}

// The format counts microseconds; three decimals keep the nanoseconds exact.
std::string microseconds(Nanoseconds time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

class EventList {
 public:
  void process(int rank) {
    add(R"({{"name":"process_name","ph":"M","pid":{0},"args":{{"name":"rank {0}"}}}})", rank);
    add(R"({{"name":"process_sort_index","ph":"M","pid":{0},"args":{{"sort_index":{0}}}}})", rank);
  }
  void thread(int rank, Stream stream) {
    const int thread = static_cast<int>(stream);
    add(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}})", rank, thread,
        to_string(stream));
    add(R"({{"name":"thread_sort_index","ph":"M","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})", rank, thread);
  }
  void slice(const Slice& slice) {
    add(R"({{"name":"{}","cat":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},)"
        R"("args":{{"role":{},"instruction":{}}}}})",
        slice_name(slice), to_string(slice.kind), slice.rank.value(), static_cast<int>(slice.stream),
        microseconds(slice.begin), microseconds(slice.end - slice.begin), slice.role.value(),
        slice.instruction.value());
  }
  std::string take() { return std::move(text_); }

 private:
  template <class... Parts>
  void add(fmt::format_string<Parts...> format, Parts&&... parts) {
    text_ += text_.empty() ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Parts>(parts)...);
  }
  std::string text_;
};

}  // namespace

std::string to_chrome_json(const Trace& trace) {
  EventList events;
  std::set<int> processes;
  std::set<std::pair<int, Stream>> threads;
  for (const Slice& slice : trace.slices) {
    const int rank = slice.rank.value();
    if (processes.insert(rank).second) {
      events.process(rank);
    }
    if (threads.insert({rank, slice.stream}).second) {
      events.thread(rank, slice.stream);
    }
    events.slice(slice);
  }
  return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" + events.take() + "]}\n";
}

}  // namespace trainyard
