#include "gui/views/term_explanations.h"

#include <QCoreApplication>
#include <array>
#include <string>
#include <string_view>

namespace trainyard::gui {

namespace {

using simulator::MemoryUse;
using simulator::StepLoss;
using simulator::TimeUse;

struct Meaning {
  const char* meaning;
  const char* formula;
  const char* source;
};

struct Entry {
  const char* name;
  const char* meaning;
  const char* formula;
  const char* source;
};

// By StepLoss.
constexpr std::array<Meaning, simulator::kStepLosses> kLosses = {{
    // kIdeal
    {"The time that the model's own arithmetic would take if every accelerator ran at its peak all the time. Its share "
     "of the step is the MFU (model FLOPs utilisation).",
     "tokens \u00d7 FLOPs per token / (ranks \u00d7 peak);  FLOPs per token = 6 M + 6 L s a d",
     "core/model/model_flops.h; Narayanan et al. 2021; docs/cost_model.md, MFU"},
    // kGemm
    {"Matrix products that run slower than the peak: small or awkward shapes, clocks under load, launches.",
     "2 m n k / (P e) \u00d7 (1 + k0/k + a [misaligned]) + t0,  less 2 m n k / P",
     "simulator/throughput/gemm_time.h; docs/cost_model.md, A step in closed form"},
    // kAttention
    {"Attention kernels that reach less than the peak. Flash kernels keep their scores on the chip; unfused ones go "
     "through memory.",
     "causal FLOPs / (P \u00d7 kernel's share);  backward \u00d7 2.5",
     "simulator/throughput/attention_time.h; Dao 2023; Shah et al. 2024"},
    // kElementwise
    {"Norms, activation functions, residual additions, casts, embedding and loss: they compute little and move much.",
     "bytes / (memory bandwidth \u00d7 e_mem)",
     "simulator/throughput/elementwise_time.h; roofline: Williams, Waterman, Patterson 2009"},
    // kRecompute
    {"Forward work done a second time so that its results needn't be kept in memory for the backward pass.",
     "forward time of the layers that are run again, their communication included",
     "simulator/throughput/layer_time.h; Korthikanti et al. 2022"},
    // kHost
    {"The GPU is done before its host has launched the next kernel.", "(gpu^p + host^p)^(1/p) - gpu  per pass",
     "simulator/throughput/layer_time.h"},
    // kTensor
    {"Ranks that share each layer's products (tp) exchange their parts; this much isn't hidden behind compute.",
     "gathers and scatters of 2 t h bytes per block, at the collective's measured curve, less what overlaps",
     "simulator/throughput/layer_time.h; Shoeybi et al. 2019; Korthikanti et al. 2022"},
    // kContext
    {"Ranks that share a long sequence (cp) exchange keys and values; this much isn't hidden behind attention.",
     "ring hops behind attention, or all-to-all (Ulysses), or an all-gather of keys and values",
     "simulator/throughput/layer_time.h; Liu et al. 2023; Jacobs et al. 2023"},
    // kExpert
    {"Tokens travel to the ranks of their experts (ep) and back, and ranks wait for the most loaded expert.",
     "all-to-all of routed tokens, dispatch and combine; slowest expert / mean - 1",
     "simulator/throughput/expert_time.cpp; docs/cost_model.md, A step in closed form"},
    // kTransfer
    {"Activations and their gradients move between pipeline stages (pp); this much isn't hidden.",
     "(ga vpp + pp - 1) \u00d7 time of a transfer", "simulator/throughput/pipeline_time.h"},
    // kBubble
    {"Stages stand still while the first micro-batch fills the pipeline and the last drains. More micro-batches or "
     "interleaved chunks make it smaller.",
     "1F1B: (pp - 1)(f + b);  interleaved: (pp - 1)(f + b) / vpp;  zero-bubble: less, by schedule",
     "simulator/throughput/pipeline_time.h; Narayanan et al. 2021; Qi et al. 2023"},
    // kImbalance
    {"Some stages have more to do (the embedding, the loss, a layer more); the others wait for the slowest.",
     "ga \u00d7 (slowest stage - mean stage)", "simulator/throughput/pipeline_time.h"},
    // kGradient
    {"Replicas (dp) add up their gradients once a step; this much isn't hidden behind the backward pass.",
     "all-reduce (ZeRO 0) or reduce-scatter (ZeRO 1, 2) of gradient bytes, less what one backward pass hides",
     "simulator/throughput/update_time.h; Rajbhandari et al. 2020"},
    // kParameter
    {"Ranks that share out parameters (ZeRO) collect them again; this much isn't hidden behind compute.",
     "all-gather of parameter bytes (ZeRO 1, 2 once a step; ZeRO 3 per micro-batch), less what compute hides",
     "simulator/throughput/update_time.h; Rajbhandari et al. 2020; Zhao et al. 2023"},
    // kOptimizer
    {"The gradient norm and the update of the parameters: memory traffic.",
     "34 B per owned parameter + 8 B per gradient, over the memory bandwidth", "simulator/throughput/update_time.h"},
    // kOffload
    {"Optimizer state, activations or parameters that live in host memory cross PCIe.",
     "bytes / host link, and the host's update at its memory's speed", "simulator/throughput/offload_time.h"},
    // kInput
    {"The step waits for its data.", "taken from the plan; 0 where the loader keeps up",
     "simulator/throughput/step_loss.h"},
}};

// By TimeUse; the first is the useful time itself.
constexpr std::array<Meaning, simulator::kTimeUses> kUses = {{
    // kUseful
    {"Steps that are in the final model, at undisturbed speed.", "goodput = useful time / wall clock",
     "simulator/failure/reliability.h"},
    // kDetection
    {"Training has stopped and nobody has noticed yet: a hang, until its watchdog's time is up.",
     "rate \u00d7 (explicit: detection; silent: hang timeout)",
     "simulator/failure/hazard.h; docs/cost_model.md, Failures"},
    // kRestart
    {"From noticing a failure to the first step: evict, schedule, start processes, join, load, warm up.",
     "rate \u00d7 sum of the stages, at this job's scale", "simulator/failure/recovery_paths.h"},
    // kWaiting
    {"Spares have run out; the job waits until a node is repaired.", "Erlang's loss formula over the nodes in repair",
     "simulator/failure/node_shortage.h"},
    // kLostWork
    {"Steps done again since the last save, and saves that a failure made useless.",
     "E[period] = (1/\u03bb + X) e^(\u03bb b) (e^(\u03bb (\u03c4 + w)) - 1);  about \u03bb \u03c4 / 2",
     "simulator/failure/checkpoint_efficiency.h; Daly 2006"},
    // kBlockingSaves
    {"Training stops while the state is copied out of the accelerators for a checkpoint.",
     "w / \u03c4:  blocking time of a save over the work between saves",
     "simulator/failure/plan_checkpoint.h; docs/cost_model.md, Failures"},
    // kDegraded
    {"Fewer replicas or nodes than the plan has: after a drop or a shrink.",
     "e^(-\u03bb s) e^(-\u03bb b / K): stall s, rebuild b, of K replicas", "simulator/failure/replica_recovery.h"},
    // kStragglers
    {"All ranks wait for the slowest: bad nodes, throttling, flapping links.",
     "P(any slow node) \u00d7 its slowdown + spread \u00d7 (\u221a(2 ln n) - \u221a(2 ln n0))",
     "simulator/failure/profile_resolution.h"},
    // kDetectors
    {"What the detectors of silent corruption cost: their work and their false alarms.",
     "overhead of a step + false alarms \u00d7 their cost", "simulator/failure/detector.h"},
    // kCorruption
    {"A silent corruption was found: training goes back to a save from before it.",
     "found a second \u00d7 (latency + half a period + restart)", "simulator/failure/corruption_flow.h"},
    // kPlanned
    {"Maintenance and new versions; a save is made before, no work is lost.",
     "\u03bd c / (1 + \u03bd c):  stops a second \u03bd, each c long", "simulator/failure/analyse.cpp"},
}};

constexpr const char* kMemorySource =
    "simulator/memory/memory_model.h; Rajbhandari et al. 2020; Korthikanti et al. 2022";

constexpr std::array<Entry, simulator::kMemoryUses> kMemoryUses = {{
    {"Parameters", "The model's weights, those that this rank holds.", "p P  (/ N under ZeRO 3)", kMemorySource},
    {"Gradients", "One for each weight, kept over the step's micro-batches.", "g P  (/ N from ZeRO 2 on)",
     kMemorySource},
    {"Optimizer state", "The optimizer's moments, and fp32 copies of the weights.",
     "(4 + 2 o) P  (no 4 where parameters are fp32; / N from ZeRO 1 on)", kMemorySource},
    {"Activations", "Results of the forward pass that the backward pass needs, of all micro-batches in flight.",
     "n A + one layer's whole while it is recomputed", "simulator/memory/activation_memory.h, in_flight.h"},
    {"Gathered parameters", "Other ranks' shards, of the layer at work and the next (ZeRO 3).",
     "two layers' parameters and their gradients", kMemorySource},
    {"Buckets", "Gradients and parameters on their way to other ranks.", "ZeRO 2: two buckets", kMemorySource},
    {"Logits", "Scores over the vocabulary, and their gradient, on the last stage.", "8 B per score", kMemorySource},
    {"Communicators", "NCCL's channels and buffers.", "0.4 GiB per communicator",
     "simulator/memory/communicator_memory.h"},
    {"Padding", "The vocabulary, rounded up so that it divides.", "vocabulary to a multiple of 128 tp", kMemorySource},
    {"Workspace", "Kernels' scratch memory, and the runtime's context and libraries.",
     "the largest weight's gradient + the accelerator's runtime memory", kMemorySource},
    {"Fragmentation", "Gaps between tensors that the allocator can't use.", "2 % of all tensors",
     "simulator/memory/memory_habits.h"},
}};

constexpr const char* kProgramSource = "the program's own buffers, to the byte: core/program/buffer.h";

constexpr std::array<Entry, kMemoryCauses> kCauses = {{
    {"Parameters", "The model's weights, those that this rank holds.", "bytes of their buffers", kProgramSource},
    {"Gradients", "One for each weight.", "bytes of their buffers", kProgramSource},
    {"Optimizer state", "The optimizer's moments, and fp32 copies of the weights.", "bytes of their buffers",
     kProgramSource},
    {"Activations", "Results of the forward pass that the backward pass needs.", "bytes of their buffers",
     kProgramSource},
    {"Gradients in flow", "Gradients of activations on their way back through the layers.", "bytes of their buffers",
     kProgramSource},
    {"Logits", "Scores over the vocabulary, turned into their gradient in place.", "bytes of their buffers",
     kProgramSource},
    {"Stage boundary", "Activations sent to or received from the neighbouring stage.", "bytes of their buffers",
     kProgramSource},
    {"Workspace", "Lives within one segment of compute.", "bytes of their buffers", kProgramSource},
    {"Tokens", "The step's input tokens and targets.", "bytes of their buffers", kProgramSource},
    {"Gathered", "Other ranks' shards of parameters, and gradients before they are scattered (ZeRO 2, 3).",
     "bytes of their buffers", kProgramSource},
    {"Fragmentation", "Bytes of the arena that no buffer uses at the peak.", "arena + persistent - peak",
     "simulator/memory/memory_estimate.h"},
    {"Runtime", "The process itself: libraries, threads, communicators.",
     "a worker process without buffers (measured), or context and libraries (published)",
     "simulator/memory/memory_estimate.h"},
}};

Explanation from(std::string_view name, const Meaning& meaning) {
  return {QCoreApplication::translate("TermExplanations", std::string(name).c_str()),
          QCoreApplication::translate("TermExplanations", meaning.meaning), QString::fromUtf8(meaning.formula),
          QString::fromUtf8(meaning.source)};
}

Explanation from(const Entry& entry) { return from(entry.name, {entry.meaning, entry.formula, entry.source}); }

}  // namespace

// Named as on the command line.
Explanation explanation_of(const simulator::WaterfallCause& cause) {
  if (const auto* loss = std::get_if<StepLoss>(&cause)) {
    return from(title_of(*loss), kLosses.at(static_cast<std::size_t>(*loss)));
  }
  const TimeUse use = std::get<TimeUse>(cause);
  return from(title_of(use), kUses.at(static_cast<std::size_t>(use)));
}

Explanation explanation_of(MemoryUse use) { return from(kMemoryUses.at(static_cast<std::size_t>(use))); }

Explanation explanation_of(MemoryCause cause) { return from(kCauses.at(static_cast<std::size_t>(cause))); }

QString explanation_html(const Explanation& explanation, const std::vector<TermNumber>& numbers) {
  QString html = QStringLiteral("<h3>%1</h3>").arg(explanation.name.toHtmlEscaped());
  if (!explanation.meaning.isEmpty()) {
    html += QStringLiteral("<p>%1</p>").arg(explanation.meaning.toHtmlEscaped());
  }
  if (!explanation.formula.isEmpty()) {
    html += QStringLiteral("<p><b>%1</b><br><code>%2</code></p>")
                .arg(QCoreApplication::translate("TermExplanations", "How it is computed"),
                     explanation.formula.toHtmlEscaped());
  }
  if (!numbers.empty()) {
    html += QStringLiteral("<table cellspacing=\"0\" cellpadding=\"2\">");
    for (const TermNumber& number : numbers) {
      html += QStringLiteral("<tr><td>%1</td><td align=\"right\"><b>%2</b></td></tr>")
                  .arg(number.name.toHtmlEscaped(), number.value.toHtmlEscaped());
      if (!number.source.isEmpty()) {
        html += QStringLiteral("<tr><td colspan=\"2\"><small>%1</small></td></tr>").arg(number.source.toHtmlEscaped());
      }
    }
    html += QStringLiteral("</table>");
  }
  if (!explanation.source.isEmpty()) {
    html += QStringLiteral("<p><small>%1: %2</small></p>")
                .arg(QCoreApplication::translate("TermExplanations", "Source"), explanation.source.toHtmlEscaped());
  }
  return html;
}

}  // namespace trainyard::gui
