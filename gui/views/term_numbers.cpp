// The numbers of a term's equation, as far as a plan says them.
#include <QCoreApplication>
#include <string_view>

#include "core/model/model_flops.h"
#include "core/model/parameter.h"
#include "core/units/format_quantity.h"
#include "gui/paint/axis.h"
#include "gui/views/term_explanations.h"

namespace trainyard::gui {

namespace {

using simulator::StepLoss;
using simulator::TimeUse;

QString tr(const char* text) { return QCoreApplication::translate("TermExplanations", text); }

QString words(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

template <class Q>
QString quantity(Q value) {
  return QString::fromStdString(format_quantity(value));
}

// Of equal stages; as in simulator/throughput/pipeline_time.h.
const char* bubble_of(ScheduleKind schedule) {
  switch (schedule) {
    case ScheduleKind::kGpipe:
    case ScheduleKind::k1f1b:
      return "(pp - 1)(f + i + w)";
    case ScheduleKind::kInterleaved:
      return "(pp - 1)(f + i + w) / vpp";
    case ScheduleKind::kZeroBubbleH1:
      return "(pp - 1) max(f + i - w, i)";
    case ScheduleKind::kZeroBubbleH2:
      return "(pp - 1) max(f + i - 2w, f)";
    case ScheduleKind::kZeroBubbleV:
      return "(pp - 1) max(f, i, w) / 2";
    case ScheduleKind::kDualPipe:
      return "(pp/2 - 1) f + (pp - 4) max(i - w, 0)";
  }
  return "";
}

// Collects the numbers that a kind of term asks for.
class Collector {
 public:
  explicit Collector(const TermContext& context) : context_(context) {}

  void add(const char* name, QString value, const std::string& source = {}) {
    numbers_.push_back({tr(name), std::move(value), QString::fromStdString(source)});
  }
  void add(const char* name, std::int64_t count) { add(name, QString::number(count)); }

  void part(const simulator::WaterfallCause& cause) {
    const Seconds time = context_.waterfall.of(cause);
    add("this part, of a useful step's wall clock",
        QStringLiteral("%1 (%2)").arg(quantity(time), with_unit(time / context_.waterfall.wall, Unit::kShare)));
  }

  void of_loss(StepLoss loss);
  void of_use(TimeUse use);
  std::vector<TermNumber> take() { return std::move(numbers_); }

 private:
  const Layout& layout() const { return context_.row.layout; }
  void degrees(const char* name, std::int64_t degree);
  void peak();
  void memory_bandwidth();
  void node_link();
  void network();
  void stack_constant(const char* name, StackConstant constant, Unit unit);
  void failures();
  void checkpoint();

  const TermContext& context_;
  std::vector<TermNumber> numbers_;
};

void Collector::peak() {
  if (!context_.problem.machine) {
    return;
  }
  const Accelerator& accelerator = context_.problem.machine->accelerator;
  for (const auto& [type, sourced] : accelerator.dense_peak) {
    if (type == layout().compute_type) {
      add("peak of the accelerator", QStringLiteral("%1 (%2)").arg(quantity(sourced.value), words(to_string(type))),
          sourced.source);
    }
  }
}

void Collector::memory_bandwidth() {
  if (context_.problem.machine) {
    const auto& bandwidth = context_.problem.machine->accelerator.memory_bandwidth;
    add("memory bandwidth", quantity(bandwidth.value), bandwidth.source);
    stack_constant("reached of it", StackConstant::kMemory, Unit::kShare);
  }
}

void Collector::node_link() {
  if (context_.problem.machine) {
    const auto& link = context_.problem.machine->accelerator.intra_node_bandwidth;
    add("bandwidth of a device inside its node, one way", quantity(link.value), link.source);
  }
}

void Collector::network() {
  if (context_.problem.machine) {
    const auto& nic = context_.problem.machine->fabric.nic_bandwidth;
    add("bandwidth of a rank between nodes, one way", quantity(nic.value), nic.source);
  }
}

void Collector::stack_constant(const char* name, StackConstant constant, Unit unit) {
  if (context_.problem.machine) {
    const StackProfile& stack = context_.problem.machine->stack;
    add(name, with_unit(stack.constant(constant), unit), "software profile " + stack.name + ", " + stack.provenance);
  }
}

void Collector::of_loss(StepLoss loss) {
  const ModelSpec& model = context_.problem.model;
  const std::int64_t tokens = context_.problem.training.global_batch * context_.problem.training.sequence;
  switch (loss) {
    case StepLoss::kIdeal:
      add("tokens of a step", tokens);
      add("FLOPs per token, forward and backward",
          quantity(model_flops_per_token(model, context_.problem.training.sequence, AttentionConvention::kCausal)));
      add("ranks", layout().ranks());
      peak();
      break;
    case StepLoss::kGemm:
      peak();
      stack_constant("reached of the sustained peak by large products (e)", StackConstant::kGemm, Unit::kShare);
      stack_constant("depth at which products take twice as long (k0)", StackConstant::kGemmDepth, Unit::kNone);
      stack_constant("overhead of a product (t0)", StackConstant::kGemmOverhead, Unit::kTime);
      degrees("tensor-parallel ranks that share a product", layout().tensor);
      break;
    case StepLoss::kAttention:
      peak();
      stack_constant("reached of what the kernel is known for", StackConstant::kAttention, Unit::kShare);
      add("sequence", context_.problem.training.sequence);
      break;
    case StepLoss::kElementwise:
      memory_bandwidth();
      break;
    case StepLoss::kRecompute:
      add("recomputation", words(to_string(layout().recompute)));
      degrees("one layer in so many is run again", layout().recompute_every);
      break;
    case StepLoss::kHost:
      stack_constant("the host launches a layer's forward in", StackConstant::kHost, Unit::kTime);
      break;
    case StepLoss::kTensor:
      degrees("tensor-parallel ranks (tp)", layout().tensor);
      add("sequence parallelism", layout().sequence_parallel ? tr("on") : tr("off"));
      add("overlapped with products", layout().overlap_tensor ? tr("yes") : tr("no"));
      add("layers", model.layers);
      add("hidden size (h)", model.hidden);
      node_link();
      break;
    case StepLoss::kContext:
      degrees("context-parallel ranks (cp)", layout().context);
      add("exchange", words(to_string(layout().context_kind)));
      network();
      break;
    case StepLoss::kExpert:
      degrees("expert-parallel ranks (ep)", layout().expert);
      node_link();
      network();
      stack_constant("bytes moved per element of a routed token", StackConstant::kTokenBytes, Unit::kNone);
      break;
    case StepLoss::kTransfer:
    case StepLoss::kBubble:
    case StepLoss::kImbalance:
      degrees("pipeline stages (pp)", layout().pipeline);
      add("micro-batches of a step (ga)", layout().accumulation);
      degrees("chunks of a stage (vpp)", layout().chunks_per_stage);
      add("schedule", words(to_string(layout().schedule)));
      if (loss == StepLoss::kBubble) {
        add("its bubble (f forward, i backward to inputs, w to weights)",
            QString::fromUtf8(bubble_of(layout().schedule)));
      }
      if (loss == StepLoss::kTransfer) {
        network();
      }
      break;
    case StepLoss::kGradient:
    case StepLoss::kParameter:
      degrees("replicas (dp)", layout().data);
      add("ZeRO stage", std::int64_t{layout().zero_stage});
      add("parameters of the model", parameter_count(model));
      add("gradients in", words(to_string(layout().gradient_type)));
      network();
      stack_constant("hidden of what could be hidden", StackConstant::kOverlap, Unit::kShare);
      break;
    case StepLoss::kOptimizer:
      memory_bandwidth();
      add("ZeRO stage", std::int64_t{layout().zero_stage});
      break;
    case StepLoss::kOffload:
      if (context_.problem.machine && context_.problem.machine->accelerator.host_link_bandwidth) {
        const auto& link = *context_.problem.machine->accelerator.host_link_bandwidth;
        add("link to the host, one way", quantity(link.value), link.source);
      }
      break;
    case StepLoss::kInput:
      break;
  }
}

void Collector::degrees(const char* name, std::int64_t degree) { add(name, degree); }

void Collector::failures() {
  const simulator::Reliability& found = context_.reliability->reliability;
  add("mean time between failures of the job", quantity(found.mttf));
  if (context_.problem.mean_time_between_failures) {
    add("time between failures is from", QObject::tr("Inputs"));
    return;
  }
  add("failure profile", QString::fromStdString(context_.problem.failures ? context_.problem.failures->name : "none"));
}

void Collector::checkpoint() {
  const simulator::Checkpoints& saves = context_.reliability->resolved.job.checkpoints;
  add("work between saves (\u03c4)", quantity(saves.storage.interval));
  add("training stands still for a save (w)", quantity(saves.storage.blocking.value));
  add("a save is written in the background (b)", quantity(saves.storage.write.value));
  add("state of the job", quantity(context_.reliability->resolved.size.state));
}

void Collector::of_use(TimeUse use) {
  if (context_.reliability == nullptr) {
    return;
  }
  const simulator::JobModel& job = context_.reliability->resolved.job;
  switch (use) {
    case TimeUse::kLostWork:
    case TimeUse::kBlockingSaves:
      failures();
      checkpoint();
      break;
    case TimeUse::kRestart:
      failures();
      add("replacement nodes in", quantity(job.restart.schedule.value));
      add("processes start in", quantity(job.restart.process_start.value));
      add("ranks join in", quantity(job.restart.communicator_init.value));
      add("state is loaded in", quantity(job.restart.load_storage.value));
      break;
    case TimeUse::kWaiting:
    case TimeUse::kDegraded:
      failures();
      add("spare nodes", job.spares.nodes);
      if (const auto& down = context_.reliability->reliability.nodes_down) {
        add("nodes in repair, mean", with_unit(*down, Unit::kNone));
      }
      break;
    case TimeUse::kStragglers:
      add("the slowest rank prolongs a step by", with_unit(job.stragglers.slowdown.value, Unit::kShare));
      add("nodes", job.nodes);
      break;
    case TimeUse::kPlanned:
      add("stops a day while running", with_unit(job.planned.rate.value.si() * 86400.0, Unit::kNone));
      add("each takes", quantity(job.planned.duration.value));
      break;
    case TimeUse::kDetection:
    case TimeUse::kCorruption:
    case TimeUse::kDetectors:
    case TimeUse::kUseful:
      failures();
      break;
  }
}

}  // namespace

std::vector<TermNumber> numbers_of(const simulator::WaterfallCause& cause, const TermContext& context) {
  Collector collector(context);
  collector.part(cause);
  if (const auto* loss = std::get_if<StepLoss>(&cause)) {
    collector.of_loss(*loss);
  } else {
    collector.of_use(std::get<TimeUse>(cause));
  }
  return collector.take();
}

}  // namespace trainyard::gui
