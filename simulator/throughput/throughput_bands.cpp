// Bands of stack profiles: from residuals of what a fit had not seen.
//
//   fitted     the stack's own residuals, with half a dozen of all stacks' mixed in
//   other      residuals of each group of rows under a fit without it, pooled over stacks, not below the stack's own
//   borrowed   residuals of each source under a fit without it
//   anchored   the same about the source's median
#include <algorithm>
#include <cmath>
#include <set>

#include "simulator/throughput/throughput_score.h"
#include "simulator/throughput/validate_throughput.h"

namespace trainyard::simulator {

namespace {

constexpr const char* kProvenance =
    " published rows by `trainyard validate throughput.json --fit` (soft L1 at 6 %, sources weighted by rows^-0.4, "
    "log-normal priors of the family); bands: 4 of 5 residuals, of rows and groups left out";

double residual(FitRow& row, const StackProfile& profile) {
  return std::log(row.row->step_s() / row.pricer->step_s(profile));
}

// Residuals of the rows that `left` says under a fit of the others, for each value of `key`.
template <class Key, class Use>
void leave_out(std::vector<FitRow>& rows, const StackLibrary& library, const Key& key, const Use& use) {
  std::set<std::string> keys;
  for (const FitRow& row : rows) {
    keys.insert(key(row));
  }
  for (const std::string& one : keys) {
    std::vector<FitRow> others;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(others),
                 [&](const FitRow& row) { return key(row) != one; });
    const StackLibrary without = fit_stacks(others, &library);
    std::vector<double> residuals;
    bool moe = false;
    bool own = true;
    for (FitRow& row : rows) {
      if (key(row) == one) {
        const ChosenStack chosen = choose_stack(without, *row.row);
        own = own && chosen.evidence != StackEvidence::kBorrowed;
        moe = row.row->moe();
        residuals.push_back(residual(row, chosen.profile));
      }
    }
    use(residuals, own, moe);
  }
}

void append(std::vector<double>& to, const std::vector<double>& more) { to.insert(to.end(), more.begin(), more.end()); }

// Of rows under the fit that saw them.
struct Fitted {
  std::vector<double> all;  // dense ones
  std::map<std::string, std::vector<double>> of_stack;
  std::map<std::string, int> rows_of;
  std::string newest;  // year
};

Fitted fitted_residuals(std::vector<FitRow>& rows, const StackLibrary& library) {
  Fitted fitted;
  for (FitRow& row : rows) {
    ++fitted.rows_of[row.stack];
    fitted.newest = std::max(fitted.newest, std::to_string(row.row->run.year));
    std::vector<double>& of_stack = fitted.of_stack[row.stack];
    if (!row.row->moe()) {
      const double value = residual(row, library.stacks.at(row.stack));
      fitted.all.push_back(value);
      of_stack.push_back(value);
    }
  }
  return fitted;
}

// Of rows under fits that had not seen them.
struct Unseen {
  std::vector<double> groups;    // whose stack was known from other groups
  std::vector<double> experts;   // the same of models with experts
  std::vector<double> sources;   // whose source was left out
  std::vector<double> anchored;  // the same about the source's median
};

Unseen unseen_residuals(std::vector<FitRow>& rows, const StackLibrary& library) {
  Unseen unseen;
  leave_out(
      rows, library, [](const FitRow& row) { return row.row->run.group; },
      [&](const std::vector<double>& residuals, bool own, bool moe) {
        if (moe || own) {
          append(moe ? unseen.experts : unseen.groups, residuals);
        }
      });
  leave_out(
      rows, library, [](const FitRow& row) { return row.row->run.source_key; },
      [&](const std::vector<double>& residuals, bool, bool) {
        // Each source counts alike, however many rows it has.
        constexpr std::size_t kOfEach = 8;
        const std::size_t step = std::max<std::size_t>(1, residuals.size() / kOfEach);
        const double middle = median(residuals);
        for (std::size_t i = 0; i < residuals.size(); i += step) {
          unseen.sources.push_back(residuals[i]);
          unseen.anchored.push_back(residuals[i] - middle);
        }
      });
  return unseen;
}

void set_bands(StackProfile& profile, const std::vector<double>& own, const std::vector<double>& all,
               const Unseen& unseen) {
  constexpr double kPooled = 6.0;
  const auto count = static_cast<double>(own.size());
  profile.band_fitted = (count * four_fifths(own) + kPooled * four_fifths(all)) / (count + kPooled);
  profile.band = std::max(four_fifths(unseen.groups), profile.band_fitted);
  profile.band_anchored = std::min(profile.band, four_fifths(unseen.anchored));
  profile.band_experts = std::max(profile.band, four_fifths(unseen.experts));
}

}  // namespace

StackLibrary fit_with_bands(const std::vector<ThroughputCase>& cases) {
  std::vector<FitRow> rows;
  for (const FitRow& row : fit_rows(cases)) {
    if (!row.row->excluded) {
      rows.push_back(row);
    }
  }
  StackLibrary library = fit_stacks(rows);
  const Fitted fitted = fitted_residuals(rows, library);
  const Unseen unseen = unseen_residuals(rows, library);
  for (auto& [name, profile] : library.stacks) {
    set_bands(profile, fitted.of_stack.at(name), fitted.all, unseen);
    profile.provenance = "fitted to " + std::to_string(fitted.rows_of.at(name)) + kProvenance;
  }
  for (auto& [name, profile] : library.families) {
    profile.band = four_fifths(unseen.sources);
    profile.band_fitted = profile.band;
    profile.band_anchored = four_fifths(unseen.anchored);
    profile.band_experts = std::max(profile.band, four_fifths(unseen.experts));
    profile.date = fitted.newest;
    profile.software = "any";
    profile.provenance = "mean that the fitted profiles lean on; " + std::to_string(rows.size()) + kProvenance;
  }
  return library;
}

}  // namespace trainyard::simulator
