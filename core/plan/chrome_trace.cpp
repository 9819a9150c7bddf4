#include "core/plan/chrome_trace.h"

#include <fmt/format.h>

#include <iterator>
#include <set>
#include <string_view>
#include <utility>

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
  // Processes of several traces lie beside each other rank by rank: their numbers are rank * of + place.
  EventList(int place, int of, std::string_view suffix) : place_(place), of_(of), suffix_(suffix) {}

  void add_all(const Trace& trace) {
    std::set<int> processes;
    std::set<std::pair<int, Stream>> threads;
    for (const Slice& each : trace.slices) {
      const int rank = each.rank.value();
      if (processes.insert(rank).second) {
        process(rank);
      }
      if (threads.insert({rank, each.stream}).second) {
        thread(rank, each.stream);
      }
      slice(each);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  int number(int rank) const { return rank * of_ + place_; }
  void process(int rank) {
    add(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":"rank {}{}"}}}})", number(rank), rank, suffix_);
    add(R"({{"name":"process_sort_index","ph":"M","pid":{0},"args":{{"sort_index":{0}}}}})", number(rank));
  }
  void thread(int rank, Stream stream) {
    const int thread = static_cast<int>(stream);
    add(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}})", number(rank), thread,
        to_string(stream));
    add(R"({{"name":"thread_sort_index","ph":"M","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})", number(rank),
        thread);
  }
  void slice(const Slice& slice) {
    add(R"({{"name":"{}","cat":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},)"
        R"("args":{{"role":{},"instruction":{}}}}})",
        slice_name(slice), to_string(slice.kind), number(slice.rank.value()), static_cast<int>(slice.stream),
        microseconds(slice.begin), microseconds(slice.end - slice.begin), slice.role.value(),
        slice.instruction.value());
  }
  template <class... Parts>
  void add(fmt::format_string<Parts...> format, Parts&&... parts) {
    text_ += text_.empty() ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Parts>(parts)...);
  }

  int place_;
  int of_;
  std::string_view suffix_;
  std::string text_;
};

std::string document(const std::string& events) {
  return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" + events + "]}\n";
}

}  // namespace

std::string to_chrome_json(const Trace& trace) {
  EventList events(0, 1, "");
  events.add_all(trace);
  return document(events.take());
}

std::string to_chrome_json(const Trace& predicted, const Trace& measured) {
  EventList first(0, 2, ", predicted");
  EventList second(1, 2, ", measured");
  first.add_all(predicted);
  second.add_all(measured);
  std::string events = first.take();
  const std::string others = second.take();
  events += events.empty() || others.empty() ? "" : ",";
  return document(events + others);
}

}  // namespace trainyard
