#include "gui/paint/slice_pyramid.h"

#include <algorithm>
#include <cmath>

namespace trainyard::gui {

namespace {

constexpr float kShareSteps = 16.0F;
constexpr double kNodePixels = 2.0;  // a wider node is opened

std::size_t kind_index(InstructionKind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

SlicePyramid::SlicePyramid(std::vector<Mark> marks) : marks_(std::move(marks)) {
  const auto earlier = [](const Mark& a, const Mark& b) { return a.begin < b.begin; };
  if (!std::is_sorted(marks_.begin(), marks_.end(), earlier)) {
    std::stable_sort(marks_.begin(), marks_.end(), earlier);
  }
  Nanoseconds last = marks_.empty() ? 0 : marks_.front().begin;
  for (Mark& mark : marks_) {
    mark.begin = std::max(mark.begin, last);
    mark.end = std::max(mark.end, mark.begin);
    last = mark.end;
  }
  build();
}

void SlicePyramid::build() {
  std::array<bool, kInstructionKinds> present = {};
  for (const Mark& mark : marks_) {
    present[kind_index(mark.kind)] = true;
  }
  for (std::size_t kind = 0; kind < present.size(); ++kind) {
    if (present[kind]) {
      place_[kind] = static_cast<std::uint8_t>(kinds_.size());
      kinds_.push_back(static_cast<InstructionKind>(kind));
    }
  }
  while (size(levels_.size()) > 1) {
    const std::size_t below = levels_.size();
    Level level;
    const std::size_t count = (size(below) + kFanOut - 1) / kFanOut;
    level.nodes.resize(count);
    level.times.assign(count * kinds_.size(), 0);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = i * kFanOut;
      const std::size_t end = std::min(first + kFanOut, size(below));
      level.nodes[i] = {node(below, first).begin, node(below, end - 1).end};
      Nanoseconds* times = &level.times[i * kinds_.size()];
      for (std::size_t child = first; child < end; ++child) {
        if (below == 0) {
          times[place_[kind_index(marks_[child].kind)]] += marks_[child].end - marks_[child].begin;
          continue;
        }
        for (std::size_t k = 0; k < kinds_.size(); ++k) {
          times[k] += levels_[below - 1].times[child * kinds_.size() + k];
        }
      }
    }
    levels_.push_back(std::move(level));
  }
}

SlicePyramid::Node SlicePyramid::node(std::size_t level, std::size_t index) const {
  return level == 0 ? Node{marks_[index].begin, marks_[index].end} : levels_[level - 1].nodes[index];
}

std::size_t SlicePyramid::first_after(Nanoseconds time) const {
  const auto found =
      std::partition_point(marks_.begin(), marks_.end(), [&](const Mark& mark) { return mark.end <= time; });
  return static_cast<std::size_t>(found - marks_.begin());
}

std::optional<std::size_t> SlicePyramid::at(Nanoseconds time) const {
  const std::size_t index = first_after(time);
  return index < marks_.size() && marks_[index].begin <= time ? std::optional(index) : std::nullopt;
}

std::optional<std::size_t> SlicePyramid::nearest(Nanoseconds time, Nanoseconds reach) const {
  if (const auto exact = at(time)) {
    return exact;
  }
  const std::size_t after = first_after(time);
  std::optional<std::size_t> best;
  Nanoseconds distance = reach;
  if (after > 0 && time - marks_[after - 1].end <= distance) {
    best = after - 1;
    distance = time - marks_[after - 1].end;
  }
  if (after < marks_.size() && marks_[after].begin - time <= distance) {
    best = after;
  }
  return best;
}

void SlicePyramid::add_totals(std::size_t level, std::size_t index, Nanoseconds begin, Nanoseconds end,
                              KindTimes& sum) const {
  const Node here = node(level, index);
  if (here.end <= begin || here.begin >= end) {
    return;
  }
  if (level == 0) {
    sum[kind_index(marks_[index].kind)] += std::min(here.end, end) - std::max(here.begin, begin);
    return;
  }
  if (here.begin >= begin && here.end <= end) {
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      sum[kind_index(kinds_[k])] += levels_[level - 1].times[index * kinds_.size() + k];
    }
    return;
  }
  const std::size_t first = index * kFanOut;
  for (std::size_t child = first; child < std::min(first + kFanOut, size(level - 1)); ++child) {
    add_totals(level - 1, child, begin, end, sum);
  }
}

KindTimes SlicePyramid::totals(Nanoseconds begin, Nanoseconds end) const {
  KindTimes sum = {};
  if (!marks_.empty()) {
    add_totals(levels_.size(), 0, begin, end, sum);
  }
  return sum;
}

// One picture: time of each kind by pixel, and slices that fill pixels of their own.
class SlicePyramid::Drawing {
 public:
  Drawing(const SlicePyramid& pyramid, const TimeView& view, int width)
      : pyramid_(pyramid),
        begin_(view.begin),
        end_(view.end),
        pixels_per_ns_(static_cast<double>(width) / view.span()),
        pixel_(view.span() / static_cast<double>(width)),
        width_(width),
        kinds_(pyramid.kinds_.size()),
        times_(static_cast<std::size_t>(width) * kinds_, 0.0F) {}

  void visit(std::size_t level, std::size_t index) {
    const Node here = pyramid_.node(level, index);
    const auto begin = static_cast<double>(here.begin);
    const auto end = static_cast<double>(here.end);
    if (end <= begin_ || begin >= end_) {
      return;
    }
    if (level == 0) {
      add_mark(index, begin, end);
    } else if (end - begin <= kNodePixels * pixel_) {
      add_node(&pyramid_.levels_[level - 1].times[index * kinds_], begin, end);
    } else {
      const std::size_t first = index * kFanOut;
      const std::size_t last = std::min(first + kFanOut, pyramid_.size(level - 1));
      for (std::size_t child = first; child < last; ++child) {
        visit(level - 1, child);
      }
    }
  }

  void take(std::vector<PixelRun>& runs) const {
    const std::size_t first = runs.size();
    std::size_t next = 0;
    for (int x = 0; x < width_;) {
      if (next < wide_.size() && wide_[next].left <= x) {
        runs.push_back(wide_[next]);
        x = std::max(x, wide_[next].right);
        ++next;
        continue;
      }
      add_pixel(x, runs, first);
      ++x;
    }
  }

 private:
  double x_of(double time) const { return (time - begin_) * pixels_per_ns_; }

  void add_node(const Nanoseconds* times, double begin, double end) {
    const double left = x_of(begin);
    const double right = x_of(end);
    const int first = static_cast<int>(std::floor(left));
    if (right <= first + 1) {
      add(first, times, 1.0F);
      return;
    }
    const double whole = 1.0 / (right - left);
    for (int pixel = first; pixel < right; ++pixel) {
      const double part = std::min(right, pixel + 1.0) - std::max(left, static_cast<double>(pixel));
      add(pixel, times, static_cast<float>(part * whole));
    }
  }

  void add(int pixel, const Nanoseconds* times, float part) {
    if (pixel < 0 || pixel >= width_) {
      return;
    }
    float* into = &times_[static_cast<std::size_t>(pixel) * kinds_];
    for (std::size_t k = 0; k < kinds_; ++k) {
      into[k] += part * static_cast<float>(times[k]);
    }
  }

  void add_mark(std::size_t index, double begin, double end) {
    const InstructionKind kind = pyramid_.marks_[index].kind;
    const double left = x_of(std::max(begin, begin_));
    const double right = x_of(std::min(end, end_));
    const int first_whole = std::min(static_cast<int>(std::ceil(left - 1e-9)), width_);
    const int last_whole = std::min(static_cast<int>(std::floor(right + 1e-9)), width_);
    const std::size_t place = pyramid_.place_[kind_index(kind)];
    if (first_whole < last_whole) {
      wide_.push_back({first_whole, last_whole, kind, 16, static_cast<std::int32_t>(index)});
    }
    if (first_whole > last_whole) {  // within a pixel
      add_part(last_whole, place, right - left);
      return;
    }
    add_part(first_whole - 1, place, static_cast<double>(first_whole) - left);
    add_part(last_whole, place, right - static_cast<double>(last_whole));
  }

  void add_part(int pixel, std::size_t place, double pixels) {
    if (pixel >= 0 && pixel < width_ && pixels > 0.0) {
      times_[static_cast<std::size_t>(pixel) * kinds_ + place] += static_cast<float>(pixels * pixel_);
    }
  }

  void add_pixel(int x, std::vector<PixelRun>& runs, std::size_t first) const {
    const float* times = &times_[static_cast<std::size_t>(x) * kinds_];
    float sum = 0.0F;
    std::size_t most = 0;
    for (std::size_t k = 0; k < kinds_; ++k) {
      sum += times[k];
      most = times[k] > times[most] ? k : most;
    }
    if (sum <= 0.0F) {
      return;
    }
    const float part = std::min(sum / static_cast<float>(pixel_), 1.0F);
    const auto sixteenths = static_cast<std::uint8_t>(part * kShareSteps + 0.999F);
    const PixelRun run = {x, x + 1, pyramid_.kinds_[most], sixteenths, PixelRun::kSeveral};
    if (runs.size() > first) {
      PixelRun& last = runs.back();
      if (last.right == x && last.mark == PixelRun::kSeveral && last.kind == run.kind &&
          last.sixteenths == run.sixteenths) {
        last.right = x + 1;
        return;
      }
    }
    runs.push_back(run);
  }

  const SlicePyramid& pyramid_;
  double begin_;
  double end_;
  double pixels_per_ns_;
  double pixel_;  // ns
  int width_;
  std::size_t kinds_;
  std::vector<float> times_;
  std::vector<PixelRun> wide_;
};

void SlicePyramid::add_runs(const TimeView& view, int width, std::vector<PixelRun>& runs) const {
  if (marks_.empty() || width <= 0 || view.span() <= 0.0) {
    return;
  }
  Drawing drawing(*this, view, width);
  drawing.visit(levels_.size(), 0);
  drawing.take(runs);
}

}  // namespace trainyard::gui
