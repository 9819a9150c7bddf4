#include "core/layout/layout.h"

#include <algorithm>

namespace trainyard {

std::string_view to_string(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kGpipe:
      return "gpipe";
    case ScheduleKind::k1f1b:
      return "1f1b";
    case ScheduleKind::kInterleaved:
      return "interleaved";
    case ScheduleKind::kZeroBubbleH1:
      return "zb-h1";
    case ScheduleKind::kZeroBubbleH2:
      return "zb-h2";
    case ScheduleKind::kZeroBubbleV:
      return "zb-v";
    case ScheduleKind::kDualPipe:
      return "dualpipe";
  }
  return "?";
}

std::string_view to_string(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNone:
      return "none";
    case Recompute::kSelective:
      return "selective";
    case Recompute::kFull:
      return "full";
  }
  return "?";
}

std::string_view to_string(ContextKind kind) {
  switch (kind) {
    case ContextKind::kRing:
      return "ring";
    case ContextKind::kUlysses:
      return "ulysses";
    case ContextKind::kAllGather:
      return "all-gather";
  }
  return "?";
}

namespace {

// Collects words separated by blanks.
class Words {
 public:
  void add(std::string_view word) {
    if (!text_.empty()) {
      text_ += ' ';
    }
    text_ += word;
  }
  void add(std::string_view name, std::int64_t number) { add(std::string(name) + std::to_string(number)); }
  void add_degree(std::string_view name, int degree) {
    if (degree != 1) {
      add(name, degree);
    }
  }
  void add_type(std::string_view name, DataType type, DataType usual) {
    if (type != usual) {
      add(std::string(name) + "-" + std::string(to_string(type)));
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_degrees(Words& words, const Layout& layout) {
  words.add_degree("tp", layout.tensor);
  words.add_degree("cp", layout.context);
  words.add_degree("pp", layout.pipeline);
  words.add_degree("dp", layout.data);
  words.add_degree("ep", layout.expert);
  words.add_degree("etp", layout.expert_tensor);
  if (words.text().empty()) {
    words.add("dp1");
  }
}

void add_bucket(Words& words, ByteCount bucket) {
  const std::int64_t bytes = bucket.value();
  const std::int64_t mebibyte = std::int64_t{1} << 20;
  words.add(bytes % mebibyte == 0 ? "bucket-" + std::to_string(bytes / mebibyte) + "MiB"
                                  : "bucket-" + std::to_string(bytes) + "B");
}

// {2, 3, 2, 2, 2, 2} -> "2,3,2x4"
std::string in_runs(const std::vector<int>& numbers) {
  constexpr std::ptrdiff_t kShortestRun = 3;
  std::string text;
  for (auto begin = numbers.begin(); begin != numbers.end();) {
    auto end = std::find_if(begin, numbers.end(), [&](int number) { return number != *begin; });
    const bool run = end - begin >= kShortestRun;
    end = run ? end : begin + 1;
    text += text.empty() ? "" : ",";
    text += std::to_string(*begin);
    if (run) {
      text += 'x';
      text += std::to_string(end - begin);
    }
    begin = end;
  }
  return text;
}

void add_offload(Words& words, const Offload& offload) {
  if (offload.optimizer) {
    words.add("offload-optimizer");
  }
  if (offload.activations) {
    words.add("offload-activations");
  }
  if (offload.parameters) {
    words.add("offload-parameters");
  }
}

void add_overlaps(Words& words, const Layout& layout) {
  if (layout.overlap_parameter_gather) {
    words.add("overlap-gather");
  }
  if (layout.overlap_tensor) {
    words.add("overlap-tp");
  }
  if (layout.overlap_pipeline) {
    words.add("overlap-pp");
  }
  if (layout.overlap_expert) {
    words.add("overlap-ep");
  }
}

}  // namespace

std::string describe(const Layout& layout) {
  const Layout usual;
  Words words;
  add_degrees(words, layout);
  if (layout.sequence_parallel) {
    words.add("sp");
  }
  if (layout.context > 1 && layout.context_kind != usual.context_kind) {
    words.add("cp-" + std::string(to_string(layout.context_kind)));
  }
  if (layout.zero_stage != usual.zero_stage) {
    words.add("zero", layout.zero_stage);
  }
  if (layout.shard_group) {
    words.add("shard", *layout.shard_group);
  }
  if (layout.pipeline > 1 || layout.schedule != usual.schedule) {
    words.add(to_string(layout.schedule));
  }
  if (layout.chunks_per_stage != usual.chunks_per_stage) {
    words.add("v", layout.chunks_per_stage);
  }
  if (!layout.chunk_layers.empty()) {
    words.add("layers-" + in_runs(layout.chunk_layers));
  }
  words.add("mbs", layout.micro_batch);
  words.add("ga", layout.accumulation);
  if (layout.recompute != usual.recompute) {
    words.add("recompute-" + std::string(to_string(layout.recompute)));
  }
  if (layout.recompute_every != usual.recompute_every) {
    words.add("every", layout.recompute_every);
  }
  add_offload(words, layout.offload);
  if (layout.bucket_bytes != usual.bucket_bytes) {
    add_bucket(words, layout.bucket_bytes);
  }
  if (!layout.overlap_gradient_reduce) {
    words.add("no-overlap");
  }
  add_overlaps(words, layout);
  if (layout.strict_reduction) {
    words.add("strict");
  }
  if (layout.rank_order != usual.rank_order) {
    words.add(layout.rank_order);
  }
  words.add_type("compute", layout.compute_type, usual.compute_type);
  words.add_type("parameters", layout.parameter_type, usual.parameter_type);
  words.add_type("gradients", layout.gradient_type, usual.gradient_type);
  words.add_type("optimizer", layout.optimizer_type, usual.optimizer_type);
  words.add_type("communication", layout.communication_type, usual.communication_type);
  return words.text();
}

}  // namespace trainyard
