#include "simulator/planner/maximize.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/model/model_limits.h"
#include "core/model/parameter.h"
#include "simulator/planner/fit_search.h"

namespace trainyard::simulator {

namespace {

constexpr std::int64_t kSmallContextStep = 1024;
constexpr std::int64_t kContextStep = 8192;
constexpr int kMostContextRanks = 1024;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 20;

// The largest n >= 1 that holds, by doubling and bisection; 0 where 1 doesn't. `most`: not asked beyond.
std::int64_t largest(const std::function<bool(std::int64_t)>& holds, std::int64_t most) {
  if (!holds(1)) {
    return 0;
  }
  std::int64_t low = 1;
  std::int64_t high = 2;
  while (high <= most && holds(high)) {
    low = high;
    high *= 2;
  }
  high = std::min(high, most + 1);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

double tokens_per_second(const Workload& workload, const RankedLayout& layout) {
  return static_cast<double>(workload.global_batch * workload.sequence) / layout.step.step_time.si();
}

// Only layouts that fill each stage once.
SearchRequest filled_once(const SearchRequest& request, std::int64_t batch) {
  SearchRequest result = request;
  result.space.workload.global_batch = batch;
  result.space.limits.max_micro_batch = batch;
  result.wanted = [wanted = request.wanted](const Layout& layout) {
    return layout.accumulation == layout.pipeline && (!wanted || wanted(layout));
  };
  return result;
}

std::vector<std::int64_t> batch_units(const SearchRequest& request) {
  std::vector<std::int64_t> units;  // ranks / (tp cp)
  for (std::int64_t cut = 1; cut <= request.space.ranks; ++cut) {
    if (request.space.ranks % cut == 0 &&
        cut <= std::int64_t{request.space.limits.max_tensor} * request.space.limits.max_context) {
      units.push_back(request.space.ranks / cut);
    }
  }
  return units;
}

// What is asked for n steps, as a request; the value that n stands for.
struct Question {
  std::function<SearchRequest(std::int64_t)> request;
  std::function<std::int64_t(std::int64_t)> value;
  std::int64_t most = kMostSteps;
};

Question batch_question(const SearchRequest& request, std::int64_t unit) {
  return {[&request, unit](std::int64_t n) { return filled_once(request, n * unit); },
          [unit](std::int64_t n) { return n * unit; }};
}

Question parameters_question(const SearchRequest& request) {
  const ModelSpec& model = request.space.workload.model;
  const std::int64_t unit = model.key_value_heads * model.head_size;
  const auto model_of = [&model, unit](std::int64_t n) { return scaled_model(model, n * unit); };
  const std::int64_t by_layers = model.hidden * kMostLayers / model.layers / unit;
  return {[&request, model_of](std::int64_t n) {
            SearchRequest sized = request;
            sized.space.workload.model = model_of(n);
            return sized;
          },
          [model_of](std::int64_t n) { return parameter_count(model_of(n)); },
          std::max<std::int64_t>(1, std::min(kMostHidden / unit, by_layers))};
}

Question context_question(const SearchRequest& request, std::int64_t step) {
  return {[&request, step](std::int64_t n) {
            SearchRequest sized = request;
            sized.space.workload.sequence = n * step;
            sized.space.workload.model.positions = std::max(request.space.workload.model.positions, n * step);
            sized.space.limits.max_context = kMostContextRanks;
            return sized;
          },
          [step](std::int64_t n) { return n * step; }};
}

std::int64_t most_steps(const Question& question, const std::stop_token& stop) {
  return largest([&](std::int64_t n) { return !stop.stop_requested() && any_fit(question.request(n), stop).fits; },
                 question.most);
}

std::optional<Maximum> answer(const Question& question, std::int64_t steps, const MachinePricers& pricers,
                              const std::stop_token& stop) {
  if (steps == 0 || stop.stop_requested()) {
    return std::nullopt;
  }
  SearchRequest request = question.request(steps);
  request.keep = 1;
  const SearchResult found = search_layouts(request, pricers(request.space.workload, request.machine), {}, stop);
  if (found.best.empty()) {
    return std::nullopt;
  }
  Maximum maximum;
  maximum.value = question.value(steps);
  maximum.workload = request.space.workload;
  maximum.best = found.best.front();
  maximum.tokens_per_second = tokens_per_second(maximum.workload, maximum.best);
  maximum.next = question.value(steps + 1);
  const Fit next = any_fit(question.request(steps + 1), stop);
  maximum.next_layout = next.layout;
  maximum.next_lacks = next.lacks;
  return maximum;
}

std::optional<Maximum> largest_batch(const SearchRequest& request, const MachinePricers& pricers,
                                     const std::stop_token& stop) {
  std::int64_t best_unit = 0;
  std::int64_t best_steps = 0;
  for (const std::int64_t unit : batch_units(request)) {
    const std::int64_t steps = most_steps(batch_question(request, unit), stop);
    if (steps * unit > best_steps * best_unit) {
      best_unit = unit;
      best_steps = steps;
    }
  }
  return best_unit == 0 ? std::nullopt : answer(batch_question(request, best_unit), best_steps, pricers, stop);
}

// The ranks times powers of two, up to the largest, which comes last: batches that many layouts can make.
std::vector<std::int64_t> doubling_batches(std::int64_t ranks, std::int64_t largest_batch) {
  constexpr std::size_t kMostPoints = 12;
  std::int64_t batch = ranks;
  while (batch * 2 <= largest_batch) {
    batch *= 2;
  }
  while (batch > largest_batch && batch % 2 == 0) {
    batch /= 2;
  }
  std::vector<std::int64_t> batches = {largest_batch};
  for (; batch >= 1 && batches.size() < kMostPoints; batch /= 2) {
    if (batch < largest_batch) {
      batches.insert(batches.begin(), batch);
    }
    if (batch % 2 != 0) {
      break;
    }
  }
  return batches;
}

}  // namespace

std::string_view to_string(Maximized what) {
  switch (what) {
    case Maximized::kBatch:
      return "batch";
    case Maximized::kParameters:
      return "parameters";
    case Maximized::kContext:
      return "context";
  }
  return "?";
}

ModelSpec scaled_model(const ModelSpec& model, std::int64_t hidden) {
  ModelSpec scaled = model;
  const double factor = static_cast<double>(hidden) / static_cast<double>(model.hidden);
  const auto grown = [factor](std::int64_t size, std::int64_t multiple) {
    const double steps = std::round(static_cast<double>(size) * factor / static_cast<double>(multiple));
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(steps)) * multiple;
  };
  const std::int64_t multiple = 128 * model.key_value_heads;
  scaled.hidden = hidden;
  scaled.layers = grown(model.layers, 1);
  scaled.heads = grown(model.heads, model.key_value_heads);
  if (model.feed_forward > 0) {
    scaled.feed_forward = grown(model.feed_forward, multiple);
  }
  if (scaled.experts) {
    scaled.experts->expert_feed_forward = grown(model.experts->expert_feed_forward, 128);
  }
  return scaled;
}

std::optional<Maximum> maximize(const SearchRequest& request, Maximized what, const MachinePricers& pricers,
                                const std::stop_token& stop) {
  if (what == Maximized::kBatch) {
    return largest_batch(request, pricers, stop);
  }
  if (what == Maximized::kParameters) {
    const Question question = parameters_question(request);
    return answer(question, most_steps(question, stop), pricers, stop);
  }
  const Question coarse = context_question(request, kContextStep);
  if (const std::int64_t steps = most_steps(coarse, stop); steps > 0) {
    return answer(coarse, steps, pricers, stop);
  }
  const Question fine = context_question(request, kSmallContextStep);
  return answer(fine, most_steps(fine, stop), pricers, stop);
}

RecomputeCurve recompute_curve(const SearchRequest& request, std::int64_t largest_batch, const MachinePricers& pricers,
                               const std::stop_token& stop) {
  RecomputeCurve curve;
  const auto best = [&](std::int64_t batch, bool recompute) -> std::optional<RankedLayout> {
    SearchRequest asked = filled_once(request, batch);
    asked.keep = 1;
    asked.wanted = [wanted = asked.wanted, recompute](const Layout& layout) {
      return (layout.recompute == Recompute::kFull) == recompute && wanted(layout);
    };
    const SearchResult found = search_layouts(asked, pricers(asked.space.workload, asked.machine), {}, stop);
    return found.best.empty() ? std::nullopt : std::optional(found.best.front());
  };
  for (const std::int64_t batch : doubling_batches(request.space.ranks, largest_batch)) {
    RecomputePoint point;
    point.batch = batch;
    point.without = best(batch, false);
    point.with = best(batch, true);
    Workload workload = request.space.workload;
    workload.global_batch = batch;
    point.tokens_without = point.without ? tokens_per_second(workload, *point.without) : 0.0;
    point.tokens_with = point.with ? tokens_per_second(workload, *point.with) : 0.0;
    curve.best_without = std::max(curve.best_without, point.tokens_without);
    if (point.without || point.with) {
      curve.points.push_back(std::move(point));
    }
    if (stop.stop_requested()) {
      break;
    }
  }
  for (const RecomputePoint& point : curve.points) {
    if (point.tokens_with > curve.best_without) {
      curve.pays_up_to = point.batch;
    }
  }
  return curve;
}

}  // namespace trainyard::simulator
