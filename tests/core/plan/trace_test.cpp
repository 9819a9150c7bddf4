#include "core/plan/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/plan/chrome_trace.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard {
namespace {

using nlohmann::ordered_json;

Trace sample_trace() {
  Trace trace;
  trace.simulated = false;
  trace.program_hash = "xxh128:00";
  trace.step = 7;
  trace.duration = 5000000001;
  trace.slices = {{.rank = Rank(0),
                   .role = RoleId(1),
                   .instruction = InstructionId(12),
                   .kind = InstructionKind::kBackwardInput,
                   .stream = Stream::kCompute,
                   .segment = SegmentKind::kAttention,
                   .microbatch = 2,
                   .layer = 3,
                   .begin = 1,
                   .end = 1234567},
                  {.rank = Rank(1),
                   .role = RoleId(0),
                   .instruction = InstructionId(0),
                   .kind = InstructionKind::kSend,
                   .stream = Stream::kSendForward,
                   .segment = {},
                   .microbatch = {},
                   .layer = {},
                   .begin = 5,
                   .end = 5000000001}};
  trace.provenance = {.tool = "trainyard", .version = "1", .inputs = {{"plan", "xxh128:1"}}};
  return trace;
}

Error refused(const char* pointer, const ordered_json& value) {
  ordered_json json = ordered_json::parse(to_json(sample_trace()));
  json[ordered_json::json_pointer(pointer)] = value;
  return error_of([&] { parse_trace(json.dump(), "trace.json"); });
}

TEST(Trace, AStepOfMoreThanThirteenDaysIsRefused) {
  EXPECT_EQ(refused("/duration_ns", (std::int64_t{1} << 50) + 1).where(), "trace.json#/duration_ns");
}

TEST(Trace, ReadsBackWhatItWrites) {
  const TemporaryFolder folder;
  write_trace(sample_trace(), folder.path() / "trace.json");
  const Trace read = read_trace(folder.path() / "trace.json");
  EXPECT_FALSE(read.simulated);
  EXPECT_EQ(read.program_hash, "xxh128:00");
  EXPECT_EQ(read.step, 7);
  EXPECT_EQ(read.duration, 5000000001);
  EXPECT_EQ(read.provenance, sample_trace().provenance);
  ASSERT_EQ(read.slices.size(), 2U);
  const Slice& first = read.slices[0];
  EXPECT_EQ(first.role, RoleId(1));
  EXPECT_EQ(first.instruction, InstructionId(12));
  EXPECT_EQ(first.kind, InstructionKind::kBackwardInput);
  EXPECT_EQ(first.segment, SegmentKind::kAttention);
  EXPECT_EQ(first.microbatch, 2);
  EXPECT_EQ(first.layer, 3);
  EXPECT_EQ(first.begin, 1);
  EXPECT_EQ(first.end, 1234567);
  EXPECT_EQ(read.slices[1].stream, Stream::kSendForward);
  EXPECT_EQ(read.slices[1].segment, std::nullopt);
  EXPECT_EQ(to_json(read), to_json(sample_trace()));
}

TEST(Trace, ReadsEveryKindStreamAndSegment) {
  Trace trace = sample_trace();
  trace.slices.clear();
  for (int k = 0; k < kInstructionKinds; ++k) {
    Slice slice;
    slice.kind = static_cast<InstructionKind>(k);
    slice.stream = static_cast<Stream>(k % kStreams);
    slice.segment = static_cast<SegmentKind>(k % (static_cast<int>(SegmentKind::kLoss) + 1));
    trace.slices.push_back(slice);
  }
  EXPECT_EQ(to_json(parse_trace(to_json(trace), "trace.json")), to_json(trace));
}

TEST(Trace, WithoutSlicesIsStillADocument) {
  Trace trace = sample_trace();
  trace.slices.clear();
  EXPECT_TRUE(parse_trace(to_json(trace), "trace.json").slices.empty());
}

TEST(Trace, NamesTheKeyThatIsWrong) {
  EXPECT_EQ(refused("/slices/1/begin", 3).where(), "trace.json#/slices/1/begin");
  EXPECT_EQ(refused("/slices/0/kind", "backwards").where(), "trace.json#/slices/0/kind");
  EXPECT_EQ(refused("/slices/0/end_ns", 0).where(), "trace.json#/slices/0/end_ns");
  EXPECT_EQ(refused("/slices/0/begin_ns", 0.5).where(), "trace.json#/slices/0/begin_ns");
  EXPECT_EQ(refused("/schema", 2).where(), "trace.json#/schema");
  EXPECT_EQ(refused("/document", "plan").where(), "trace.json#/document");
  EXPECT_EQ(refused("/colour", 2).where(), "trace.json#/colour");
}

TEST(Trace, CutShortIsAnErrorAtEveryLength) {
  const std::string whole = to_json(sample_trace());
  for (std::size_t length = 0; length + 1 < whole.size(); ++length) {
    EXPECT_THROW(parse_trace(whole.substr(0, length), "trace.json"), Error);
  }
}

// Trace Event Format: "X" events with ts and dur in microseconds, "M" events that name pid and tid.
TEST(ChromeTrace, HasAProcessPerRankAThreadPerStreamAndExactNanoseconds) {
  const ordered_json json = ordered_json::parse(to_chrome_json(sample_trace()));
  std::vector<std::string> names;
  std::vector<ordered_json> slices;
  for (const ordered_json& event : json.at("traceEvents")) {
    if (event.at("ph") == "X") {
      slices.push_back(event);
    } else if (event.at("args").contains("name")) {
      names.push_back(event.at("args").at("name"));
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"rank 0", "compute", "rank 1", "send_forward"}));
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0].at("name"), "backward_input attention L3 mb2");
  EXPECT_EQ(slices[1].at("name"), "send");
  EXPECT_EQ(slices[0].at("ts"), 0.001);
  EXPECT_EQ(slices[0].at("dur"), 1234.566);
  EXPECT_EQ(slices[1].at("pid"), 1);
  EXPECT_EQ(slices[1].at("dur"), 4999999.996);
}

// Rank 1 of the predicted trace is process 2, of the measured one process 3: no event of one lies on a row of the
// other.
TEST(ChromeTrace, PredictedAndMeasuredAreProcessesOfTheirOwn) {
  const Trace predicted = sample_trace();
  Trace measured = sample_trace();
  measured.simulated = false;
  measured.slices.pop_back();
  const ordered_json json = ordered_json::parse(to_chrome_json(predicted, measured));
  std::map<std::string, int> process;
  std::map<int, int> slices;
  for (const ordered_json& event : json.at("traceEvents")) {
    if (event.at("ph") == "X") {
      ++slices[event.at("pid").get<int>()];
    } else if (event.at("name") == "process_name") {
      process[event.at("args").at("name")] = event.at("pid");
    }
  }
  EXPECT_EQ(process,
            (std::map<std::string, int>{{"rank 0, predicted", 0}, {"rank 0, measured", 1}, {"rank 1, predicted", 2}}));
  EXPECT_EQ(slices, (std::map<int, int>{{0, 1}, {1, 1}, {2, 1}}));
}

TEST(ChromeTrace, OfNothingIsStillJson) {
  EXPECT_TRUE(ordered_json::parse(to_chrome_json(Trace{})).at("traceEvents").empty());
  EXPECT_TRUE(ordered_json::parse(to_chrome_json(Trace{}, Trace{})).at("traceEvents").empty());
  EXPECT_FALSE(ordered_json::parse(to_chrome_json(Trace{}, sample_trace())).at("traceEvents").empty());
}

}  // namespace
}  // namespace trainyard
