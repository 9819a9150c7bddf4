#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "core/document/json_document.h"
#include "core/document/write_file.h"
#include "core/plan/provenance_json.h"
#include "core/plan/trace.h"

namespace trainyard {

namespace {

// A trace of a thousand ranks has millions of slices.
constexpr ByteCount kTraceLimit = ByteCount(std::int64_t{2} << 30);

constexpr std::initializer_list<InstructionKind> kKinds = {
    InstructionKind::kForward,   InstructionKind::kBackwardInput, InstructionKind::kBackwardWeight,
    InstructionKind::kRecompute, InstructionKind::kGather,        InstructionKind::kFree,
    InstructionKind::kReduce,    InstructionKind::kAllToAll,      InstructionKind::kSend,
    InstructionKind::kRecv,      InstructionKind::kGradientNorm,  InstructionKind::kNormReduce,
    InstructionKind::kOptimizer, InstructionKind::kSnapshot,      InstructionKind::kOffload};
static_assert(kKinds.size() == kInstructionKinds);

constexpr std::initializer_list<Stream> kAllStreams = {
    Stream::kCompute,     Stream::kTensor,       Stream::kData,         Stream::kSendForward,
    Stream::kRecvForward, Stream::kSendBackward, Stream::kRecvBackward, Stream::kHostCopy};
static_assert(kAllStreams.size() == kStreams);

constexpr std::initializer_list<SegmentKind> kSegments = {
    SegmentKind::kEmbedding, SegmentKind::kNorm,       SegmentKind::kAttention, SegmentKind::kMlp,
    SegmentKind::kResidual,  SegmentKind::kHead,       SegmentKind::kLoss,      SegmentKind::kQueryKeyValue,
    SegmentKind::kScores,    SegmentKind::kProjection, SegmentKind::kRouter,    SegmentKind::kExperts,
    SegmentKind::kCombine,   SegmentKind::kMerge};
static_assert(kSegments.size() == kSegmentKinds);

constexpr Nanoseconds kLongestStep = Nanoseconds{1} << 50;  // thirteen days

Slice read_slice(ObjectReader& reader) {
  Slice slice;
  slice.rank = Rank(reader.small_integer("rank"));
  slice.role = RoleId(reader.small_integer("role"));
  slice.instruction = InstructionId(reader.small_integer("instruction"));
  slice.kind = reader.one_of("kind", kKinds);
  slice.stream = reader.one_of("stream", kAllStreams);
  slice.segment = reader.optional_one_of("segment", kSegments);
  slice.microbatch = reader.optional_small_integer("microbatch");
  slice.layer = reader.optional_small_integer("layer");
  slice.begin = reader.integer("begin_ns");
  slice.end = reader.integer("end_ns");
  if (slice.end < slice.begin) {
    reader.fail("end_ns", "is before begin_ns");
  }
  return slice;
}

// By hand: slices are many, and none of their text needs escaping.
void append_slice(std::string& text, const Slice& slice) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, R"({{"rank":{},"role":{},"instruction":{},"kind":"{}","stream":"{}")", slice.rank.value(),
                 slice.role.value(), slice.instruction.value(), to_string(slice.kind), to_string(slice.stream));
  if (slice.segment) {
    fmt::format_to(out, R"(,"segment":"{}")", to_string(*slice.segment));
  }
  if (slice.microbatch) {
    fmt::format_to(out, R"(,"microbatch":{})", *slice.microbatch);
  }
  if (slice.layer) {
    fmt::format_to(out, R"(,"layer":{})", *slice.layer);
  }
  fmt::format_to(out, R"(,"begin_ns":{},"end_ns":{}}})", slice.begin, slice.end);
}

}  // namespace

Trace parse_trace(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("trace", kTraceSchema);
  Trace trace;
  trace.simulated = root.boolean("simulated");
  trace.program_hash = root.text("program_hash");
  trace.step = root.integer("step");
  trace.duration = root.integer("duration_ns", 0, kLongestStep);
  trace.provenance = read_provenance(root);
  trace.slices.reserve(root.array_size("slices"));
  root.for_each_object("slices", [&](ObjectReader& reader) { trace.slices.push_back(read_slice(reader)); });
  root.finish();
  return trace;
}

Trace read_trace(const std::filesystem::path& file) {
  return parse_trace(read_text_file(file, kTraceLimit), file.string());
}

std::string to_json(const Trace& trace) {
  nlohmann::ordered_json head = {{"document", "trace"},
                                 {"schema", kTraceSchema},
                                 {"simulated", trace.simulated},
                                 {"program_hash", trace.program_hash},
                                 {"step", trace.step},
                                 {"duration_ns", trace.duration},
                                 {"provenance", provenance_json(trace.provenance)}};
  std::string text = head.dump();
  text.pop_back();  // the brace that closes it, to go on with the slices
  text += ",\"slices\":[";
  for (const Slice& slice : trace.slices) {
    text += &slice == &trace.slices.front() ? "\n" : ",\n";
    append_slice(text, slice);
  }
  return text + "]}\n";
}

void write_trace(const Trace& trace, const std::filesystem::path& file) { write_file(file, to_json(trace)); }

}  // namespace trainyard
