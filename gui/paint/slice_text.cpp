#include "gui/paint/slice_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <tuple>

#include "core/document/text_match.h"
#include "core/units/format_quantity.h"

namespace trainyard::gui {

namespace {

struct KindText {
  const char* name;
  const char* letter;
  const char* meaning;
};

// In the order of InstructionKind.
constexpr std::array<KindText, kInstructionKinds> kKindTexts = {{
    {"forward", "F", "outputs of the layers from their inputs"},
    {"backward, inputs", "B", "gradients of the layers' inputs, which the stage before waits for"},
    {"backward, weights", "W", "gradients of the weights; nobody waits for them until the update"},
    {"recomputation", "R", "a forward run again because its results were not kept"},
    {"gather", "AG", "all-gather: each rank gets the others' parts of a tensor"},
    {"free", "x", "gathered parameters given back"},
    {"reduce", "RS", "all-reduce or reduce-scatter: the ranks' tensors are summed"},
    {"all-to-all", "A2A", "each rank sends each other one a part: tokens to their experts and back"},
    {"send", "S", "activations or gradients to the next stage"},
    {"receive", "Rx", "activations or gradients from the stage before"},
    {"gradient norm", "N", "this rank's sum of squared gradients"},
    {"norm sum", "NS", "the norm and the loss summed over all ranks"},
    {"optimizer", "O", "weights updated from their gradients"},
    {"snapshot", "C", "state copied for a checkpoint"},
    {"offload", "H", "copied to or from host memory"},
}};

const KindText& text_of(InstructionKind kind) { return kKindTexts[static_cast<std::size_t>(kind)]; }

std::optional<int> number_after(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) {
    return std::nullopt;
  }
  const std::string_view digits = word.substr(prefix.size());
  int value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return !digits.empty() && result.ec == std::errc() && result.ptr == digits.data() + digits.size()
             ? std::optional(value)
             : std::nullopt;
}

std::string spaced(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return result;
}

void add_communication(std::vector<Fact>& facts, const Program& program, const Communication& communication) {
  facts.push_back({"communication", spaced(to_string(communication.kind))});
  if (communication.kind != CommunicationKind::kSend && communication.kind != CommunicationKind::kRecv) {
    facts.push_back({"algorithm", std::string(to_string(communication.algorithm))});
  }
  facts.push_back(
      {communication.extent.exact ? "payload" : "payload, expected",
       format_quantity(communication.extent.exact ? communication.payload : communication.extent.expected)});
  if (communication.sent.value() > 0) {
    facts.push_back({"sent by a rank", fmt::format("{} in {} message{}", format_quantity(communication.sent),
                                                   communication.messages, communication.messages == 1 ? "" : "s")});
  }
  if (communication.group.at() < program.groups.size()) {
    const Group& group = program.groups[communication.group.at()];
    facts.push_back({"group", fmt::format("{}, {} ranks", spaced(to_string(group.kind)), group.size)});
  }
  if (communication.peer_stage) {
    facts.push_back({"other side", fmt::format("stage {}", *communication.peer_stage)});
  }
}

}  // namespace

std::string kind_name(InstructionKind kind) { return text_of(kind).name; }
std::string kind_meaning(InstructionKind kind) { return text_of(kind).meaning; }
std::string kind_letter(InstructionKind kind) { return text_of(kind).letter; }

std::string stream_name(Stream stream) {
  switch (stream) {
    case Stream::kCompute:
      return "compute";
    case Stream::kTensor:
      return "tensor-parallel communication";
    case Stream::kData:
      return "data-parallel communication";
    case Stream::kSendForward:
      return "send to the next stage";
    case Stream::kRecvForward:
      return "receive from the stage before";
    case Stream::kSendBackward:
      return "send gradients back";
    case Stream::kRecvBackward:
      return "receive gradients";
    case Stream::kHostCopy:
      return "copies to host memory";
  }
  return std::string(to_string(stream));
}

std::string slice_name(const Slice& slice) {
  std::string name = kind_name(slice.kind);
  if (slice.segment) {
    name += fmt::format(" {}", spaced(to_string(*slice.segment)));
  }
  if (slice.layer) {
    name += fmt::format(", layer {}", *slice.layer);
  }
  if (slice.microbatch) {
    name += fmt::format(", micro-batch {}", *slice.microbatch);
  }
  return name;
}

std::string slice_label(const Slice& slice) {
  return kind_letter(slice.kind) + (slice.microbatch ? std::to_string(*slice.microbatch) : std::string());
}

std::string row_name(const TimelineRows& rows, std::size_t index) {
  const TimelineRow& row = rows.rows()[index];
  return fmt::format("{} {}, {}", rows.with_stages() ? "stage" : "role", row.stage, stream_name(row.stream));
}

std::string row_detail(const TimelineRows& rows, std::size_t index) {
  const TimelineRow& row = rows.rows()[index];
  if (!row.measured) {
    return row.stands == 1 ? fmt::format("predicted, rank {}", row.rank.value())
                           : fmt::format("predicted, {} equal ranks", row.stands);
  }
  return row.stands == 1 ? fmt::format("measured, rank {}", row.rank.value())
                         : fmt::format("measured, last of {} ranks: {}", row.stands, row.rank.value());
}

std::vector<Fact> slice_facts(const TimelineRows& rows, SliceRef ref) {
  const Slice& slice = rows.slice(ref);
  std::vector<Fact> facts;
  facts.push_back({"takes", time_text(static_cast<double>(slice.end - slice.begin))});
  facts.push_back({"begins", time_text(static_cast<double>(slice.begin)) + " into the step"});
  facts.push_back({"on", row_name(rows, ref.row) + " (" + row_detail(rows, ref.row) + ")"});
  if (slice.segment) {
    facts.push_back({"part of the layer", spaced(to_string(*slice.segment))});
  }
  if (slice.layer) {
    facts.push_back({"layer", std::to_string(*slice.layer)});
  }
  if (slice.microbatch) {
    facts.push_back({"micro-batch", std::to_string(*slice.microbatch)});
  }
  const Instruction* instruction = rows.instruction(ref);
  if (instruction == nullptr) {
    return facts;
  }
  if (instruction->work.flops.value() > 0) {
    facts.push_back({"work", format_quantity(instruction->work.flops)});
  }
  if (instruction->work.bytes.value() > 0) {
    facts.push_back({"through memory", format_quantity(instruction->work.bytes)});
  }
  if (instruction->communication) {
    add_communication(facts, *rows.source().program, *instruction->communication);
  }
  return facts;
}

std::string slice_tooltip(const TimelineRows& rows, SliceRef ref) {
  const Slice& slice = rows.slice(ref);
  std::string text =
      fmt::format("<b>{}</b><br><i>{}</i><table>", escaped(slice_name(slice)), escaped(kind_meaning(slice.kind)));
  for (const Fact& fact : slice_facts(rows, ref)) {
    text += fmt::format("<tr><td>{}&nbsp;&nbsp;</td><td>{}</td></tr>", escaped(fact.name), escaped(fact.value));
  }
  return text + "</table>";
}

SliceQuery::SliceQuery(const std::string& text) {
  std::istringstream stream(lower_case(text));
  for (std::string part; stream >> part;) {
    Word word;
    word.text = part;
    word.layer = number_after(part, "layer");
    if (!word.layer) {
      word.layer = number_after(part, "l");
    }
    word.microbatch = number_after(part, "mb");
    word.rank = number_after(part, "rank");
    words_.push_back(std::move(word));
  }
}

bool SliceQuery::matches(const Slice& slice) const {
  return std::all_of(words_.begin(), words_.end(), [&](const Word& word) {
    if (word.layer) {
      return slice.layer == word.layer;
    }
    if (word.microbatch) {
      return slice.microbatch == word.microbatch;
    }
    if (word.rank) {
      return slice.rank.value() == *word.rank;
    }
    const auto holds = [&](std::string_view name) { return name.find(word.text) != std::string_view::npos; };
    return holds(text_of(slice.kind).name) || holds(to_string(slice.kind)) || holds(to_string(slice.stream)) ||
           (slice.segment && holds(to_string(*slice.segment)));
  });
}

std::vector<SliceRef> find_slices(const TimelineRows& rows, const SliceQuery& query) {
  std::vector<SliceRef> found;
  if (query.empty()) {
    return found;
  }
  for (std::size_t row = 0; row < rows.rows().size(); ++row) {
    for (std::size_t mark = 0; mark < rows.rows()[row].slices.size(); ++mark) {
      if (query.matches(rows.slice({row, mark}))) {
        found.push_back({row, mark});
      }
    }
  }
  std::sort(found.begin(), found.end(), [&](const SliceRef& a, const SliceRef& b) {
    return std::tuple(rows.mark(a).begin, a.row) < std::tuple(rows.mark(b).begin, b.row);
  });
  return found;
}

}  // namespace trainyard::gui
