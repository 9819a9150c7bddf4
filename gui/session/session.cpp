#include "gui/session/session.h"

#include <algorithm>
#include <optional>

namespace trainyard::gui {

namespace {

std::string text_at(const Results& results, std::optional<int> index) {
  const PlanRow* row = results.plan(index);
  return row == nullptr ? std::string() : row->text;
}

}  // namespace

Session::Session(QObject* parent)
    : QObject(parent),
      analysis_(jobs_, results_),
      reliability_(jobs_, results_, analysis_),
      search_(document_, results_, analysis_, jobs_) {
  connect(&results_, &Results::plans_about_to_change, this, &Session::remember_selection);
  connect(&results_, &Results::plans_changed, this, &Session::restore_selection);
  connect(&selection_, &Selection::plan_changed, this, [this] {
    if (!restoring_) {
      plan_ = text_at(results_, selection_.plan());
    }
  });
  connect(&document_, &StudyDocument::replaced, this, [this] {
    plan_.clear();
    shown_.clear();
    plan_a_.clear();
    plan_b_.clear();
    selection_.select_plan(std::nullopt);
    selection_.compare(std::nullopt, std::nullopt);
    selection_.select_ranks({});
    selection_.select_links({});
    selection_.select_time(std::nullopt);
    results_.clear_filters();
    runs_.clear();
  });
}

void Session::cancel_job(JobId job) {
  if (search_.running() && search_.job() == job) {
    search_.cancel();
  } else {
    jobs_.cancel(job);
  }
}

bool Session::is_starred(int plan) const {
  const std::vector<std::string>& starred = document_.study().starred;
  const PlanRow* row = results_.plan(plan);
  return row != nullptr && std::find(starred.begin(), starred.end(), row->text) != starred.end();
}

void Session::set_starred(int plan, bool starred) {
  const PlanRow* row = results_.plan(plan);
  if (row == nullptr || is_starred(plan) == starred) {
    return;
  }
  document_.edit(Field::kMarks, starred ? tr("star a plan") : tr("take a star off"), [&](Study& study) {
    if (starred) {
      study.starred.push_back(row->text);
    } else {
      std::erase(study.starred, row->text);
    }
  });
}

void Session::remember_selection() {
  const auto keep = [this](std::string& text, std::optional<int> index) {
    if (index) {
      text = text_at(results_, index);
    }
  };
  keep(shown_, selection_.plan());
  keep(plan_a_, selection_.plan_a());
  keep(plan_b_, selection_.plan_b());
}

void Session::restore_selection() {
  const auto place = [this](const std::string& text) {
    return text.empty() ? std::optional<int>() : results_.find(text);
  };
  const std::optional<int> before = selection_.plan();
  // The best, until a person picks another. While a search goes on, the first best stays: each change of it would be
  // simulated. What was picked may come yet.
  const bool ended = results_.summary().finished || results_.summary().stopped;
  std::optional<int> plan = place(plan_);
  if (!plan && ended) {
    plan_.clear();
  } else if (!plan) {
    plan = place(shown_);
  }
  if (!plan && !results_.plans().empty() && results_.plans().front().feasible()) {
    plan = 0;
  }
  restoring_ = true;
  selection_.compare(place(plan_a_), place(plan_b_));
  if (plan == before) {
    Q_EMIT selection_.plan_changed();  // the same place, perhaps another plan
  }
  selection_.select_plan(plan);
  restoring_ = false;
}

}  // namespace trainyard::gui
