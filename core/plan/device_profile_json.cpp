// Measured device profiles as JSON. The samples are tables: see device_profile.h.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/document/json_document.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/plan/device_profile.h"

namespace trainyard {

// Names of enumerations that only these files show.
static std::string_view to_string(Transpose transpose) {
  constexpr std::array<std::string_view, 3> kNames = {"nn", "nt", "tn"};
  return kNames[static_cast<std::size_t>(transpose)];
}
static std::string_view to_string(AttentionMask mask) { return mask == AttentionMask::kNone ? "none" : "causal"; }
static std::string_view to_string(AttentionPass pass) {
  return pass == AttentionPass::kForward ? "forward" : "backward";
}

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostRanks = 1 << 20;
constexpr double kShortest = 1e-12;  // seconds: a sample's time is positive
constexpr double kLongest = 1e6;
constexpr double kMostWork = 0x1p56;  // a sample's sizes multiplied: its FLOPs and bytes fit 64 bits
constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;

void require_countable(ObjectReader& reader, std::initializer_list<std::int64_t> sizes) {
  double product = 1.0;
  for (const std::int64_t size : sizes) {
    product *= static_cast<double>(size);
  }
  if (product > kMostWork) {
    throw Error("its sizes multiply to more than can be counted", reader.where(),
                "measure the machine anew with `trainyard calibrate`");
  }
}

DataType read_type(ObjectReader& reader) {
  return reader.one_of(
      "type", {DataType::kFp32, DataType::kTf32, DataType::kFp16, DataType::kBf16, DataType::kFp8, DataType::kFp64});
}

Seconds read_time(ObjectReader& reader) { return from_si<Seconds>(reader.number("time_s", kShortest, kLongest)); }

GemmSample read_gemm(ObjectReader& reader) {
  GemmSample sample;
  sample.gemm.batch = reader.integer("batch", 1);
  sample.gemm.m = reader.integer("m", 1);
  sample.gemm.n = reader.integer("n", 1);
  sample.gemm.k = reader.integer("k", 1);
  require_countable(reader, {sample.gemm.batch, sample.gemm.m, sample.gemm.n, sample.gemm.k});
  sample.gemm.type = read_type(reader);
  sample.gemm.transpose = reader.one_of("transpose", {Transpose::kNN, Transpose::kNT, Transpose::kTN});
  sample.gemm.accumulate = reader.boolean("accumulate");
  sample.time = read_time(reader);
  return sample;
}

Json write(const GemmSample& sample) {
  const Gemm& gemm = sample.gemm;
  return {{"batch", gemm.batch},
          {"m", gemm.m},
          {"n", gemm.n},
          {"k", gemm.k},
          {"type", to_string(gemm.type)},
          {"transpose", to_string(gemm.transpose)},
          {"accumulate", gemm.accumulate},
          {"time_s", sample.time.si()}};
}

AttentionSample read_attention(ObjectReader& reader) {
  AttentionSample sample;
  Attention& attention = sample.attention;
  attention.sequences = reader.integer("sequences", 1);
  attention.query_heads = reader.integer("query_heads", 1);
  attention.key_heads = reader.integer("key_heads", 1);
  attention.queries = reader.integer("queries", 1);
  attention.keys = reader.integer("keys", 1);
  attention.head_size = reader.integer("head_size", 1);
  attention.query_tile = reader.integer("query_tile", 1);
  require_countable(
      reader, {attention.sequences, attention.query_heads, attention.queries, attention.keys, attention.head_size});
  require_countable(reader, {attention.sequences, attention.key_heads, attention.keys, attention.head_size});
  attention.mask = reader.one_of("mask", {AttentionMask::kNone, AttentionMask::kCausal});
  if (attention.mask == AttentionMask::kCausal && attention.keys < attention.queries) {
    reader.fail("keys", "are fewer than the queries, under a causal mask");
  }
  attention.pass = reader.one_of("pass", {AttentionPass::kForward, AttentionPass::kBackward});
  attention.type = read_type(reader);
  sample.time = read_time(reader);
  return sample;
}

Json write(const AttentionSample& sample) {
  const Attention& attention = sample.attention;
  return {{"sequences", attention.sequences},
          {"query_heads", attention.query_heads},
          {"key_heads", attention.key_heads},
          {"queries", attention.queries},
          {"keys", attention.keys},
          {"head_size", attention.head_size},
          {"query_tile", attention.query_tile},
          {"mask", to_string(attention.mask)},
          {"pass", to_string(attention.pass)},
          {"type", to_string(attention.type)},
          {"time_s", sample.time.si()}};
}

ElementwiseSample read_elementwise(ObjectReader& reader) {
  using enum ElementwiseKernel;
  ElementwiseSample sample;
  sample.kernel = reader.one_of("kernel", {kEmbedForward,
                                           kEmbedBackward,
                                           kAdd,
                                           kNormForward,
                                           kNormBackward,
                                           kNormWeightBackward,
                                           kRopeForward,
                                           kRopeBackward,
                                           kSwigluForward,
                                           kSwigluBackward,
                                           kLossStatistics,
                                           kLossGradient,
                                           kSumOfSquares,
                                           kAdamW,
                                           kSgd,
                                           kCopy,
                                           kZero,
                                           kGeluForward,
                                           kGeluBackward,
                                           kBiasBackward,
                                           kPositionForward,
                                           kPositionBackward});
  sample.elements = reader.integer("elements", 1, kMostBytes);
  sample.bytes = ByteCount(reader.integer("bytes", 1, kMostBytes));
  sample.time = read_time(reader);
  return sample;
}

Json write(const ElementwiseSample& sample) {
  return {{"kernel", to_string(sample.kernel)},
          {"elements", sample.elements},
          {"bytes", sample.bytes.value()},
          {"time_s", sample.time.si()}};
}

CollectiveSample read_collective(ObjectReader& reader) {
  using enum CommunicationKind;
  CollectiveSample sample;
  sample.kind = reader.one_of("kind", {kAllReduce, kReduceScatter, kAllGather, kAllToAll, kBroadcast, kSend});
  sample.algorithm = reader.one_of(
      "algorithm", {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kDirect, CollectiveAlgorithm::kTree});
  sample.group_size = reader.small_integer("group_size", 2, kMostRanks);
  sample.payload = ByteCount(reader.integer("payload_bytes", 1, kMostBytes));
  sample.time = read_time(reader);
  return sample;
}

Json write(const CollectiveSample& sample) {
  return {{"kind", to_string(sample.kind)},
          {"algorithm", to_string(sample.algorithm)},
          {"group_size", sample.group_size},
          {"payload_bytes", sample.payload.value()},
          {"time_s", sample.time.si()}};
}

OverlapSlowdown read_overlap(ObjectReader& reader) {
  constexpr double kMost = 1e3;
  OverlapSlowdown slowdown;
  slowdown.group_size = reader.small_integer("group_size", 2, kMostRanks);
  slowdown.compute = reader.number("compute", 1.0, kMost);
  slowdown.communication = reader.number("communication", 1.0, kMost);
  return slowdown;
}

Json write(const OverlapSlowdown& slowdown) {
  return {
      {"group_size", slowdown.group_size}, {"compute", slowdown.compute}, {"communication", slowdown.communication}};
}

HostCopySample read_host_copy(ObjectReader& reader) {
  HostCopySample sample;
  sample.direction = reader.one_of("direction", {CopyDirection::kToDevice, CopyDirection::kToHost});
  sample.bytes = ByteCount(reader.integer("bytes", 1, kMostBytes));
  sample.time = read_time(reader);
  return sample;
}

Json write(const HostCopySample& sample) {
  return {{"direction", to_string(sample.direction)}, {"bytes", sample.bytes.value()}, {"time_s", sample.time.si()}};
}

template <class Sample>
std::vector<Sample> read_rows(ObjectReader& parent, std::string_view key, Sample (*read)(ObjectReader&)) {
  std::vector<Sample> rows;
  parent.for_each_object(key, [&](ObjectReader& row) { rows.push_back(read(row)); });
  return rows;
}

Json write(const Concurrency& set);

template <class Sample>
Json write_rows(const std::vector<Sample>& samples) {
  Json rows = Json::array();
  for (const Sample& sample : samples) {
    rows.push_back(write(sample));
  }
  return rows;
}

Concurrency read_concurrency(ObjectReader& reader) {
  Concurrency set;
  set.ranks_at_once = reader.small_integer("ranks_at_once", 1, kMostRanks);
  set.threads_per_rank = reader.small_integer("threads_per_rank", 1, kMostRanks);
  set.instruction_overhead = from_si<Seconds>(reader.number("instruction_overhead_s", 0.0, kLongest));
  set.stream_handover = from_si<Seconds>(reader.number("stream_handover_s", 0.0, kLongest));
  set.peak_gemm_rate = from_si<FlopsPerSecond>(reader.number("peak_gemm_flops_per_s", 1.0));
  set.process_baseline = ByteCount(reader.integer("process_baseline_bytes", 0, kMostBytes));
  set.gemms = read_rows(reader, "gemms", read_gemm);
  set.attentions = read_rows(reader, "attentions", read_attention);
  set.elementwise = read_rows(reader, "elementwise", read_elementwise);
  set.collectives = read_rows(reader, "collectives", read_collective);
  set.overlap = read_rows(reader, "overlap", read_overlap);
  if (reader.has("host_copies")) {
    set.host_copies = read_rows(reader, "host_copies", read_host_copy);
  }
  return set;
}

Json write(const Concurrency& set) {
  return {{"ranks_at_once", set.ranks_at_once},
          {"threads_per_rank", set.threads_per_rank},
          {"instruction_overhead_s", set.instruction_overhead.si()},
          {"stream_handover_s", set.stream_handover.si()},
          {"peak_gemm_flops_per_s", set.peak_gemm_rate.si()},
          {"process_baseline_bytes", set.process_baseline.value()},
          {"gemms", write_rows(set.gemms)},
          {"attentions", write_rows(set.attentions)},
          {"elementwise", write_rows(set.elementwise)},
          {"collectives", write_rows(set.collectives)},
          {"overlap", write_rows(set.overlap)},
          {"host_copies", write_rows(set.host_copies)}};
}

}  // namespace

DeviceProfile parse_device_profile(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("device_profile", kDeviceProfileSchema);
  DeviceProfile profile;
  profile.name = root.text("name");
  profile.device = root.text("device");
  ObjectReader provenance = root.object("provenance");
  profile.provenance.tool = provenance.text("tool");
  profile.provenance.version = provenance.text("version");
  profile.provenance.inputs = provenance.text_map("inputs");
  provenance.finish();
  MeasuredProfile measured;
  measured.memory = ByteCount(root.integer("memory_bytes", 1, kMostBytes));
  root.for_each_object("concurrencies",
                       [&](ObjectReader& set) { measured.concurrencies.push_back(read_concurrency(set)); });
  if (measured.concurrencies.empty()) {
    root.fail("concurrencies", "the profile holds no samples", "measure the machine with `trainyard calibrate`");
  }
  root.finish();
  profile.data = std::move(measured);
  return profile;
}

DeviceProfile read_device_profile(const std::filesystem::path& file) {
  return parse_device_profile(read_text_file(file), file.string());
}

std::string to_json(const DeviceProfile& profile) {
  const MeasuredProfile* measured = profile.measured();
  if (measured == nullptr) {
    throw Error("a profile from published numbers isn't written as one file", profile.name,
                "it is its accelerator's and its cluster's file");
  }
  Json root = {{"document", "device_profile"},
               {"schema", kDeviceProfileSchema},
               {"name", profile.name},
               {"device", profile.device},
               {"memory_bytes", measured->memory.value()}};
  root["provenance"] = {{"tool", profile.provenance.tool},
                        {"version", profile.provenance.version},
                        {"inputs", profile.provenance.inputs}};
  root["concurrencies"] = write_rows(measured->concurrencies);
  return root.dump(1) + "\n";
}

void write_device_profile(const DeviceProfile& profile, const std::filesystem::path& file) {
  write_file(file, to_json(profile));
}

}  // namespace trainyard
