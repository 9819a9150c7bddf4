#include "simulator/throughput/validate_throughput.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/error.h"
#include "simulator/throughput/stack_anchor.h"
#include "simulator/throughput/throughput_score.h"

namespace trainyard::simulator {

namespace {

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
  if (!std::isfinite(out.predicted) || out.predicted <= 0.0) {
    out.predicted = 0.0;
    out.reason = "the step model gives no finite time for it";
    return;
  }
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

// Each anchored stack, with the profile that its run leaves.
std::map<std::string, StackProfile> anchor_profiles(const std::vector<FitRow>& rows, const StackLibrary& library,
                                                    const std::vector<std::string>& anchors) {
  std::map<std::string, StackProfile> profiles;
  for (const std::string& anchor : anchors) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const FitRow& row) {
      return row.row->run.id == anchor && row.row->tokens_per_s_per_gpu > 0.0;
    });
    if (found == rows.end()) {
      throw Error("no row of the file that can be priced and was measured has this id: " + anchor, "--anchor",
                  "`trainyard validate FILE --rows` lists them");
    }
    const ChosenStack chosen = choose_stack(library, *found->row);
    profiles[found->stack] = anchored_profile(chosen.profile, {{found->pricer.get(), found->row->step_s()}});
  }
  return profiles;
}

struct LeftOut {
  FitRow* row = nullptr;
  ThroughputRow* out = nullptr;
  StackProfile profile;
  double log_error = 0.0;  // of speed
  double anchored = 0.0;   // sum of |error| over anchors
  int anchors = 0;
};

// Every run of the source in turn sets its stack's constants for the source's others of the stack.
void anchor_each(std::vector<LeftOut>& members) {
  for (LeftOut& anchor : members) {
    double sum = 0.0;
    int others = 0;
    const StackProfile profile =
        anchored_profile(anchor.profile, {{anchor.row->pricer.get(), anchor.row->row->step_s()}});
    for (LeftOut& member : members) {
      if (&member != &anchor && member.row->stack == anchor.row->stack) {
        const double error = std::abs(member.row->row->step_s() / member.row->pricer->step_s(profile) - 1.0);
        member.anchored += error;
        ++member.anchors;
        sum += error;
        ++others;
      }
    }
    anchor.out->as_anchor_error = others > 0 ? sum / others : 0.0;
  }
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
    std::vector<LeftOut> members;
    std::vector<double> logs;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].row->run.source_key == source && !rows[i].row->excluded) {
        const StackProfile profile = choose_stack(without, *rows[i].row).profile;
        logs.push_back(std::log(rows[i].row->step_s() / rows[i].pricer->step_s(profile)));
        members.push_back({&rows[i], out[i], profile, logs.back()});
      }
    }
    anchor_each(members);
    const double middle = median(logs);
    for (const LeftOut& member : members) {
      member.out->left_out_error = std::exp(member.log_error) - 1.0;
      member.out->scaled_error = std::exp(member.log_error - middle) - 1.0;
      member.out->anchored_error = member.anchors > 0 ? member.anchored / member.anchors : 0.0;
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
  const std::map<std::string, StackProfile> anchored = anchor_profiles(rows, library, options.anchors);
  std::vector<ThroughputRow*> out;
  for (FitRow& row : rows) {
    ThroughputRow& described_row = validation.rows.at(static_cast<std::size_t>(row.row - cases.data()));
    out.push_back(&described_row);
    ChosenStack chosen = choose_stack(library, *row.row);
    if (const auto found = anchored.find(row.stack); found != anchored.end()) {
      chosen.profile = found->second;
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
