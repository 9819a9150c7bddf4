#include "simulator/throughput/validate_throughput.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/error.h"
#include "simulator/throughput/throughput_score.h"

namespace trainyard::simulator {

namespace {

// Of an anchor's log error: the rest is taken for the scatter of one run (a stack's bias of 9 % against 4.5 %).
constexpr double kAnchorShare = 0.8;

std::string grid_of(const ThroughputCase& row) {
  const PublishedRun& run = row.run;
  return run.source_key + ", " + run.model.name + ", " + std::to_string(row.workload.sequence) + " tokens, " +
         std::to_string(run.gpus) + " " + run.gpu + ", batch " + std::to_string(row.workload.global_batch) + ", " +
         run.parallelism.precision;
}

ThroughputRow described(const ThroughputCase& row) {
  ThroughputRow out;
  out.id = row.run.id;
  out.reason = row.reason;
  out.source = row.run.source_key;
  out.flags = row.flags;
  out.excluded = row.excluded;
  out.moe = row.reason.empty() && row.moe();
  out.family = row.run.model.name;
  out.gpus = row.run.gpus;
  out.measured = row.tokens_per_s_per_gpu;
  out.grid = row.reason.empty() ? grid_of(row) : std::string();
  return out;
}

double rate(const ThroughputCase& row, double step_s) {
  return row.tokens_per_step() / step_s / static_cast<double>(row.run.gpus);
}

void predict(FitRow& fit, const ChosenStack& chosen, ThroughputRow& out) {
  const StepPrice price = fit.pricer->price(chosen.profile, &out.layout);
  out.predicted = rate(*fit.row, price.step_time.si());
  out.stack = chosen.profile.name;
  out.evidence = chosen.evidence;
  out.losses = price.losses;
  // An open knob widens what we know by what it may have been.
  const double spread = fit.pricer->spread(chosen.profile);
  const double band = std::exp(chosen.band(fit.row->moe()) + spread);
  out.low = out.predicted / band;
  out.high = out.predicted * band;
  out.error = out.measured > 0.0 ? out.predicted / out.measured - 1.0 : 0.0;
}

// Each anchored stack, with the factor that its run sets.
std::map<std::string, double> anchor_scales(const std::vector<FitRow>& rows, const StackLibrary& library,
                                            const std::vector<std::string>& anchors) {
  std::map<std::string, double> scales;
  for (const std::string& anchor : anchors) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const FitRow& row) {
      return row.row->run.id == anchor && row.row->tokens_per_s_per_gpu > 0.0;
    });
    if (found == rows.end()) {
      throw Error("no row of the file that can be priced and was measured has this id: " + anchor, "--anchor",
                  "`trainyard validate FILE --rows` lists them");
    }
    const ChosenStack chosen = choose_stack(library, *found->row);
    scales[found->stack] = std::pow(found->row->step_s() / found->pricer->step_s(chosen.profile), kAnchorShare);
  }
  return scales;
}

void leave_sources_out(std::vector<FitRow>& rows, const StackLibrary& library, std::vector<ThroughputRow*>& out) {
  std::set<std::string> sources;
  std::vector<FitRow> fitted;
  for (const FitRow& row : rows) {
    if (!row.row->excluded) {
      sources.insert(row.row->run.source_key);
      fitted.push_back(row);
    }
  }
  for (const std::string& source : sources) {
    std::vector<FitRow> others;
    std::copy_if(fitted.begin(), fitted.end(), std::back_inserter(others),
                 [&](const FitRow& row) { return row.row->run.source_key != source; });
    const StackLibrary without = fit_stacks(others, &library);
    std::vector<std::size_t> members;
    std::vector<double> logs;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].row->run.source_key == source && !rows[i].row->excluded) {
        const ChosenStack chosen = choose_stack(without, *rows[i].row);
        members.push_back(i);
        logs.push_back(std::log(rows[i].row->step_s() / rows[i].pricer->step_s(chosen.profile)));
      }
    }
    const double middle = median(logs);
    for (std::size_t k = 0; k < members.size(); ++k) {
      ThroughputRow& row = *out[members[k]];
      row.left_out_error = std::exp(logs[k]) - 1.0;
      row.scaled_error = std::exp(logs[k] - middle) - 1.0;
      double sum = 0.0;
      for (std::size_t j = 0; j < members.size(); ++j) {
        sum += j == k ? 0.0 : std::abs(std::exp(logs[k] - kAnchorShare * logs[j]) - 1.0);
      }
      row.anchored_error = members.size() > 1 ? sum / static_cast<double>(members.size() - 1) : 0.0;
    }
  }
}

}  // namespace

ThroughputValidation validate_throughput(const std::vector<ThroughputCase>& cases, const StackLibrary& library,
                                         const ThroughputOptions& options) {
  ThroughputValidation validation;
  for (const ThroughputCase& row : cases) {
    validation.rows.push_back(described(row));
  }
  std::vector<FitRow> rows = fit_rows(cases);
  const std::map<std::string, double> scales = anchor_scales(rows, library, options.anchors);
  std::vector<ThroughputRow*> out;
  for (FitRow& row : rows) {
    ThroughputRow& described_row = validation.rows.at(static_cast<std::size_t>(row.row - cases.data()));
    out.push_back(&described_row);
    ChosenStack chosen = choose_stack(library, *row.row);
    if (const auto scale = scales.find(row.stack); scale != scales.end()) {
      chosen.profile.scale = scale->second;
      chosen.evidence = StackEvidence::kAnchored;
    }
    predict(row, chosen, described_row);
  }
  if (options.leave_one_out) {
    leave_sources_out(rows, library, out);
  }
  validation.summary = summarise(cases, validation.rows);
  return validation;
}

}  // namespace trainyard::simulator
