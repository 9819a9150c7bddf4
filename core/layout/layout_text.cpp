#include "core/layout/layout_text.h"

#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "core/error.h"

namespace trainyard {

namespace {

// What stands before a value that isn't a number.
constexpr std::string_view kRecompute = "recompute-";
constexpr std::string_view kContextKind = "cp-";
constexpr std::string_view kLayers = "layers-";
constexpr std::string_view kBucket = "bucket-";

using Setter = std::function<void(Layout&, int)>;

std::map<std::string, Setter> numbers() {
  return {
      {"tp", [](Layout& l, int n) { l.tensor = n; }},
      {"cp", [](Layout& l, int n) { l.context = n; }},
      {"pp", [](Layout& l, int n) { l.pipeline = n; }},
      {"dp", [](Layout& l, int n) { l.data = n; }},
      {"ep", [](Layout& l, int n) { l.expert = n; }},
      {"etp", [](Layout& l, int n) { l.expert_tensor = n; }},
      {"zero", [](Layout& l, int n) { l.zero_stage = n; }},
      {"shard", [](Layout& l, int n) { l.shard_group = n; }},
      {"v", [](Layout& l, int n) { l.chunks_per_stage = n; }},
      {"mbs", [](Layout& l, int n) { l.micro_batch = n; }},
      {"ga", [](Layout& l, int n) { l.accumulation = n; }},
      {"every", [](Layout& l, int n) { l.recompute_every = n; }},
  };
}

// Types of numbers: "compute-bf16".
std::map<std::string, DataType Layout::*, std::less<>> types() {
  return {{"compute", &Layout::compute_type},
          {"parameters", &Layout::parameter_type},
          {"gradients", &Layout::gradient_type},
          {"optimizer", &Layout::optimizer_type},
          {"communication", &Layout::communication_type}};
}

std::map<std::string, std::function<void(Layout&)>> words() {
  std::map<std::string, std::function<void(Layout&)>> result = {
      {"sp", [](Layout& l) { l.sequence_parallel = true; }},
      {"no-overlap", [](Layout& l) { l.overlap_gradient_reduce = false; }},
      {"overlap-gather", [](Layout& l) { l.overlap_parameter_gather = true; }},
      {"overlap-tp", [](Layout& l) { l.overlap_tensor = true; }},
      {"overlap-pp", [](Layout& l) { l.overlap_pipeline = true; }},
      {"overlap-ep", [](Layout& l) { l.overlap_expert = true; }},
      {"strict", [](Layout& l) { l.strict_reduction = true; }},
      {"offload-optimizer", [](Layout& l) { l.offload.optimizer = true; }},
      {"offload-activations", [](Layout& l) { l.offload.activations = true; }},
      {"offload-parameters", [](Layout& l) { l.offload.parameters = true; }},
  };
  for (int i = 0; i < kScheduleKinds; ++i) {
    const auto kind = static_cast<ScheduleKind>(i);
    result[std::string(to_string(kind))] = [kind](Layout& l) { l.schedule = kind; };
  }
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    result[std::string(kRecompute) + std::string(to_string(recompute))] = [recompute](Layout& l) {
      l.recompute = recompute;
    };
  }
  for (const ContextKind kind : {ContextKind::kRing, ContextKind::kUlysses, ContextKind::kAllGather}) {
    result[std::string(kContextKind) + std::string(to_string(kind))] = [kind](Layout& l) { l.context_kind = kind; };
  }
  return result;
}

std::optional<int> whole_number(const std::string& digits) {
  int value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = failure == std::errc() && end == digits.data() + digits.size();
  return whole && value >= 0 && !digits.empty() ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse(const std::string& word, const std::string& flag) {
  throw Error("'" + word + "' isn't part of a layout", flag,
              "write it as the table does: tp8 pp16 dp128 sp zero1 interleaved v4 mbs1");
}

constexpr int kMostRepeats = 4096;  // of one number of layers

// "layers-3,4,4,3", or of 3, 4, 4, 4, 4: "layers-3,4x4"
bool set_layers(Layout& layout, const std::string& word, const std::string& flag) {
  if (!word.starts_with(kLayers)) {
    return false;
  }
  std::istringstream list(word.substr(kLayers.size()));
  for (std::string part; std::getline(list, part, ',');) {
    const std::size_t times = part.find('x');
    const std::optional<int> layers = whole_number(part.substr(0, times));
    const std::optional<int> count = times == std::string::npos ? 1 : whole_number(part.substr(times + 1));
    if (!layers || !count || *count > kMostRepeats) {
      refuse(word, flag);
    }
    layout.chunk_layers.insert(layout.chunk_layers.end(), static_cast<std::size_t>(*count), *layers);
  }
  return true;
}

bool set_number(Layout& layout, const std::string& word, const std::string& flag) {
  const std::size_t digits = word.find_first_of("0123456789");
  if (digits == std::string::npos || digits == 0) {
    return false;
  }
  const auto known = numbers();
  const auto setter = known.find(word.substr(0, digits));
  const std::optional<int> value = whole_number(word.substr(digits));
  if (setter == known.end() || !value) {
    return false;
  }
  if (*value == 0 && setter->first != "zero") {
    throw Error("'" + word + "' must be at least 1", flag, "leave it out for what is usual");
  }
  setter->second(layout, *value);
  return true;
}

// "compute-bf16", "parameters-fp8", ...
bool set_type(Layout& layout, const std::string& word) {
  const std::size_t dash = word.find('-');
  if (dash == std::string::npos) {
    return false;
  }
  const auto places = types();
  const auto place = places.find(word.substr(0, dash));
  for (const DataType type : {DataType::kFp32, DataType::kTf32, DataType::kFp16, DataType::kBf16, DataType::kFp8,
                              DataType::kMxFp8, DataType::kNvFp4, DataType::kFp64}) {
    if (place != places.end() && word.substr(dash + 1) == to_string(type)) {
      layout.*place->second = type;
      return true;
    }
  }
  return false;
}

// "bucket-25MiB", "bucket-1000001B"
bool set_bucket(Layout& layout, const std::string& word) {
  const std::size_t unit = word.find_last_of("0123456789") + 1;
  if (!word.starts_with(kBucket) || unit <= kBucket.size()) {
    return false;
  }
  const std::optional<int> value = whole_number(word.substr(kBucket.size(), unit - kBucket.size()));
  const std::string name = word.substr(unit);
  if (!value || *value == 0 || (name != "MiB" && name != "B")) {
    return false;
  }
  layout.bucket_bytes = ByteCount(std::int64_t{*value} << (name == "MiB" ? 20 : 0));
  return true;
}

// "tp-cp-ep-dp-pp"; the mesh says whether it names each once.
bool is_order(std::string_view word) {
  constexpr std::size_t kLength = 14;
  return word.size() == kLength && word.find_first_not_of("tcepd-") == std::string_view::npos;
}

bool set_order(Layout& layout, const std::string& word) {
  if (!is_order(word)) {
    return false;
  }
  layout.rank_order = word;
  return true;
}

}  // namespace

std::string layout_text(const Layout& layout) {
  const Layout plain;
  Layout shown = layout;
  shown.compute_type = plain.compute_type;
  shown.parameter_type = plain.parameter_type;
  shown.gradient_type = plain.gradient_type;
  shown.optimizer_type = plain.optimizer_type;
  shown.communication_type = plain.communication_type;
  shown.bucket_bytes = plain.bucket_bytes;
  return describe(shown);
}

std::string word_subject(std::string_view word) {
  for (int i = 0; i < kScheduleKinds; ++i) {
    if (word == to_string(static_cast<ScheduleKind>(i))) {
      return {};
    }
  }
  if (is_order(word)) {
    return "rank order";
  }
  if (word.starts_with(kContextKind)) {
    return "cp kind";
  }
  std::string head(word.substr(0, word.find('-')));
  const bool valued = word.starts_with(kRecompute) || word.starts_with(kLayers) || word.starts_with(kBucket);
  // "optimizer-fp32" is a type; what has no dash is none.
  if (valued || (head.size() < word.size() && types().contains(head))) {
    return head;
  }
  const std::string letters(word.substr(0, word.find_first_of("0123456789")));
  return numbers().contains(letters) ? letters : std::string(word);
}

Layout parse_layout(const std::string& text, const std::string& flag, const Layout& base, std::int64_t ranks,
                    std::int64_t global_batch) {
  Layout layout = base;
  layout.data = 0;
  layout.accumulation = 0;
  const auto known = words();
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    const auto plain = known.find(word);
    if (plain != known.end()) {
      plain->second(layout);
    } else if (!set_number(layout, word, flag) && !set_layers(layout, word, flag) && !set_type(layout, word) &&
               !set_bucket(layout, word) && !set_order(layout, word)) {
      refuse(word, flag);
    }
  }
  const std::int64_t cut = std::int64_t{layout.tensor} * layout.context * layout.pipeline;
  if (layout.data == 0 && cut > 0) {
    layout.data = static_cast<int>(ranks / cut);
  }
  if (layout.ranks() != ranks) {
    throw Error("takes " + std::to_string(layout.ranks()) + " ranks, not " + std::to_string(ranks),
                flag + " \"" + text + "\"", "tp x cp x pp x dp is the number of ranks");
  }
  const std::int64_t each = layout.micro_batch * layout.data;
  if (layout.accumulation == 0 && each > 0) {
    layout.accumulation = global_batch / each;
  }
  if (layout.sequences_per_step() != global_batch) {
    throw Error("makes " + std::to_string(layout.sequences_per_step()) + " sequences of a batch of " +
                    std::to_string(global_batch),
                flag + " \"" + text + "\"", "mbs x ga x dp is the batch");
  }
  return layout;
}

}  // namespace trainyard
