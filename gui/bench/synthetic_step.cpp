#include "gui/bench/synthetic_step.h"

#include <algorithm>
#include <memory>

namespace trainyard::gui {

TimelineSource synthetic_step(std::int64_t ranks, std::int64_t slices_each) {
  auto trace = std::make_shared<Trace>();
  trace->simulated = false;
  trace->slices.reserve(static_cast<std::size_t>(ranks * slices_each));
  std::uint64_t state = 1;
  const auto random = [&state](std::uint64_t below) {  // splitmix64 (Steele, Lea and Flood 2014)
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return (z ^ (z >> 31U)) % below;
  };
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (const Stream stream : {Stream::kCompute, Stream::kData}) {
      const bool compute = stream == Stream::kCompute;
      Nanoseconds at = 0;
      for (std::int64_t i = 0; i < slices_each / 2; ++i) {
        Slice slice;
        slice.rank = Rank(rank);
        slice.role = RoleId(rank);
        slice.instruction = InstructionId(i);
        const bool second = random(3) == 0;
        slice.kind = compute ? (second ? InstructionKind::kBackwardInput : InstructionKind::kForward)
                             : (second ? InstructionKind::kReduce : InstructionKind::kGather);
        slice.stream = stream;
        slice.segment = SegmentKind::kAttention;
        slice.microbatch = static_cast<int>(i % 64);
        slice.layer = static_cast<int>(i % 80);
        slice.begin = at + static_cast<Nanoseconds>(random(compute ? 120 : 700));
        slice.end = slice.begin + 100 + static_cast<Nanoseconds>(random(800));
        at = slice.end;
        trace->duration = std::max(trace->duration, at);
        trace->slices.push_back(slice);
      }
    }
  }
  TimelineSource source;
  source.measured = std::move(trace);
  return source;
}

}  // namespace trainyard::gui
