#include "gui/session/plan_columns.h"

#include <QObject>
#include <array>
#include <cmath>
#include <limits>

#include "core/units/format_quantity.h"

namespace trainyard::gui {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kPercent = 100.0;
constexpr double kMilliseconds = 1e3;
constexpr double kBillion = 1e9;

struct ColumnText {
  const char* title;
  const char* unit;
  const char* meaning;
};

constexpr std::array<ColumnText, kPlanColumns> kTexts = {{
    {"Layout", "",
     "How the model and the batch are laid out over the ranks; hover a row to read its words. Bold: what the best plan "
     "has otherwise; \u2026: words that both have"},
    {"Step time", "ms", "Predicted time of one training step; hover a row for the range in which 4 of 5 runs fall"},
    {"Tokens/s", "", "Tokens trained on in a second, all ranks together"},
    {"MFU", "%",
     "Model FLOPs utilisation: FLOPs that the model itself needs (causal attention, nothing recomputed) "
     "over what the devices could do at their peak"},
    {"Memory/rank", "GiB", "Memory that the fullest rank needs at its worst moment of a step"},
    {"Bubble", "%", "Share of the step in which pipeline stages wait to be filled or drained"},
    {"Exposed comm.", "%", "Exposed communication: share of the step in which data moves and nothing is computed"},
    {"Goodput", "%",
     "Share of the wall clock in which training makes progress that stays, after failures, restarts "
     "and checkpoints; with the interval, timeouts, spare nodes and detectors that are advised for the plan"},
    {"Tokens/day", "G", "Useful tokens a day, in billions: what is left after failures"},
    {"Cost", "", "Of a billion tokens, from the price of a GPU for an hour; no failures counted"},
    {"TP", "", "Tensor parallelism: each layer cut over this many ranks"},
    {"CP", "", "Context parallelism: each sequence cut over this many ranks"},
    {"PP", "", "Pipeline parallelism: layers cut into this many stages"},
    {"DP", "", "Data parallelism: this many replicas, each with its share of the batch"},
    {"EP", "", "Expert parallelism: experts dealt out over this many ranks"},
    {"ZeRO", "", "What the replicas share out: optimizer state (1), gradients too (2), parameters too (3)"},
    {"Micro-batch", "", "Sequences that go through the pipeline at once"},
    {"Micro-batches", "", "Micro-batches of a step on one replica (gradient accumulation)"},
    {"Schedule", "", "Order in which pipeline stages take forwards and backwards"},
    {"Chunks", "", "Runs of layers on each stage (virtual pipeline)"},
    {"Recompute", "",
     "Activations computed again in the backward pass instead of kept: none, selective (attention's "
     "scores), full"},
}};

const ColumnText& text_for(PlanColumn column) { return kTexts.at(static_cast<std::size_t>(column)); }

double percent(const std::optional<double>& share) { return share ? kPercent * *share : kNone; }

double degree(const Layout& layout, PlanColumn column) {
  switch (column) {
    case PlanColumn::kTensor:
      return layout.tensor;
    case PlanColumn::kContext:
      return layout.context;
    case PlanColumn::kPipeline:
      return layout.pipeline;
    case PlanColumn::kData:
      return layout.data;
    case PlanColumn::kExpert:
      return layout.expert;
    case PlanColumn::kZero:
      return layout.zero_stage;
    case PlanColumn::kMicroBatch:
      return static_cast<double>(layout.micro_batch);
    case PlanColumn::kAccumulation:
      return static_cast<double>(layout.accumulation);
    case PlanColumn::kSchedule:
      return static_cast<double>(layout.schedule);
    case PlanColumn::kChunks:
      return layout.chunks_per_stage;
    case PlanColumn::kRecompute:
      return static_cast<double>(layout.recompute);
    default:
      return kNone;
  }
}

}  // namespace

QString title_of(PlanColumn column) { return QObject::tr(text_for(column).title); }
QString unit_of(PlanColumn column) { return QObject::tr(text_for(column).unit); }
QString meaning_of(PlanColumn column) { return QObject::tr(text_for(column).meaning); }
bool is_degree(PlanColumn column) { return column >= PlanColumn::kTensor; }

bool smaller_is_better(PlanColumn column) {
  return column == PlanColumn::kStepTime || column == PlanColumn::kMemory || column == PlanColumn::kBubble ||
         column == PlanColumn::kCommunication || column == PlanColumn::kCost;
}

double value_of(const PlanRow& row, PlanColumn column) {
  if (is_degree(column)) {
    return degree(row.layout, column);
  }
  if (column == PlanColumn::kMemory) {
    return row.memory.value() > 0 ? static_cast<double>(row.memory.value()) / 0x1p30 : kNone;
  }
  if (!row.feasible()) {
    return kNone;
  }
  switch (column) {
    case PlanColumn::kStepTime:
      return kMilliseconds * row.step_time.si();
    case PlanColumn::kTokensPerSecond:
      return row.tokens_per_second;
    case PlanColumn::kMfu:
      return kPercent * row.mfu;
    case PlanColumn::kBubble:
      return percent(row.bubble);
    case PlanColumn::kCommunication:
      return percent(row.communication);
    case PlanColumn::kGoodput:
      return percent(row.goodput);
    case PlanColumn::kTokensPerDay:
      return row.tokens_per_day ? *row.tokens_per_day / kBillion : kNone;
    case PlanColumn::kCost:
      return row.cost.value_or(kNone);
    default:
      return kNone;
  }
}

QString value_text(PlanColumn column, double value) {
  if (std::isnan(value)) {
    return QStringLiteral("–");
  }
  switch (column) {
    case PlanColumn::kStepTime:
      return QString::fromStdString(format_quantity(from_si<Seconds>(value / kMilliseconds)));
    case PlanColumn::kTokensPerSecond:
      return value < 1e6 ? QString::number(value, 'f', 0) : QStringLiteral("%1 M").arg(value / 1e6, 0, 'f', 2);
    case PlanColumn::kMemory:
      return QString::fromStdString(format_quantity(from_si<Bytes>(value * 0x1p30)));
    case PlanColumn::kMfu:
    case PlanColumn::kBubble:
    case PlanColumn::kCommunication:
    case PlanColumn::kGoodput:
      return QStringLiteral("%1 %").arg(value, 0, 'f', 1);
    case PlanColumn::kTokensPerDay:
      return QStringLiteral("%1 G").arg(value, 0, value < 10 ? 'g' : 'f', value < 10 ? 3 : 1);
    case PlanColumn::kCost:
      return QString::number(value, 'f', value < 10 ? 2 : 0);
    case PlanColumn::kSchedule:
      return QString::fromUtf8(to_string(static_cast<ScheduleKind>(std::lround(value))).data());
    case PlanColumn::kRecompute:
      return QString::fromUtf8(to_string(static_cast<Recompute>(std::lround(value))).data());
    default:
      return QString::number(value, 'g', 6);
  }
}

QString text_of(const PlanRow& row, PlanColumn column) {
  return column == PlanColumn::kLayout ? QString::fromStdString(row.text) : value_text(column, value_of(row, column));
}

}  // namespace trainyard::gui
