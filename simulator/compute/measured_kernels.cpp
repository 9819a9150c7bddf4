#include "simulator/compute/measured_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace trainyard::simulator {
namespace {

double octaves(std::int64_t value) { return std::log2(static_cast<double>(std::max<std::int64_t>(value, 1))); }

// One product of the batch.
FitPoint gemm_point(const Gemm& gemm) {
  const double m = static_cast<double>(gemm.m);
  const double n = static_cast<double>(gemm.n);
  const double k = static_cast<double>(gemm.k);
  FitPoint point;
  point.features = {1.0, 2.0 * m * n * k, m * n * (gemm.accumulate ? 2.0 : 1.0), m * k, n * k};
  // Accumulating is one octave away from not: a sample of the same shape still counts most.
  point.position = {octaves(gemm.m), octaves(gemm.n), octaves(gemm.k), gemm.accumulate ? 1.0 : 0.0};
  return point;
}

FitPoint attention_point(const Attention& attention) {
  const double flops = static_cast<double>(attention_flops(attention).value());
  const double products = attention.pass == AttentionPass::kForward ? 2.0 : 5.0;
  const double heads = static_cast<double>(attention.sequences * attention.query_heads);
  const double rows = heads * static_cast<double>(attention.queries);
  const double scores = flops / (2.0 * products * static_cast<double>(std::max<std::int64_t>(attention.head_size, 1)));
  FitPoint point;
  point.features = {1.0, flops, scores, rows * static_cast<double>(attention.head_size), heads};
  point.position = {octaves(attention.queries), octaves(attention.keys), octaves(attention.head_size),
                    octaves(attention.sequences * attention.query_heads)};
  return point;
}

const char* name(Transpose transpose) {
  switch (transpose) {
    case Transpose::kNN:
      return "nn";
    case Transpose::kNT:
      return "nt";
    case Transpose::kTN:
      return "tn";
  }
  return "?";
}

[[noreturn]] void no_samples(const std::string& what, const std::string& profile) {
  throw Error(fmt::format("the device profile has no samples of {}", what), profile,
              "measure the machine again with `trainyard calibrate`");
}

}  // namespace

MeasuredKernels::MeasuredKernels(const Concurrency& samples, std::string profile_name)
    : profile_name_(std::move(profile_name)) {
  std::map<std::pair<DataType, Transpose>, std::vector<FitSample>> gemms;
  for (const GemmSample& sample : samples.gemms) {
    const double batch = static_cast<double>(sample.gemm.batch);
    gemms[{sample.gemm.type, sample.gemm.transpose}].push_back({gemm_point(sample.gemm), sample.time.si() / batch});
    double& best = best_rate_[sample.gemm.type];
    best = std::max(best, static_cast<double>(flops(Operation(sample.gemm)).value()) / sample.time.si());
  }
  for (const auto& [key, points] : gemms) {
    gemms_.emplace(key, ResidualFit(points));
  }
  std::map<std::pair<DataType, AttentionPass>, std::vector<FitSample>> attentions;
  for (const AttentionSample& sample : samples.attentions) {
    attentions[{sample.attention.type, sample.attention.pass}].push_back(
        {attention_point(sample.attention), sample.time.si()});
  }
  for (const auto& [key, points] : attentions) {
    attentions_.emplace(key, ResidualFit(points));
  }
  std::array<std::vector<std::pair<double, double>>, kElementwiseKernels> curves;
  for (const ElementwiseSample& sample : samples.elementwise) {
    curves[static_cast<std::size_t>(sample.kernel)].emplace_back(static_cast<double>(sample.bytes.value()),
                                                                 sample.time.si());
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    elementwise_[i] = LogCurve(std::move(curves[i]));
  }
}

Seconds MeasuredKernels::time(const Operation& operation) const {
  if (const Gemm* product = std::get_if<Gemm>(&operation)) {
    return gemm(*product);
  }
  if (const Attention* scores = std::get_if<Attention>(&operation)) {
    return attention(*scores);
  }
  return elementwise(std::get<Elementwise>(operation));
}

Seconds MeasuredKernels::gemm(const Gemm& gemm) const {
  if (gemm.batch == 0 || gemm.m == 0 || gemm.n == 0 || gemm.k == 0) {
    return Seconds();
  }
  const auto fit = gemms_.find({gemm.type, gemm.transpose});
  if (fit == gemms_.end()) {
    no_samples(fmt::format("{} products of {}", name(gemm.transpose), to_string(gemm.type)), profile_name_);
  }
  const double batch = static_cast<double>(gemm.batch);
  const double floor = static_cast<double>(flops(Operation(gemm)).value()) / best_rate_.at(gemm.type);
  return from_si<Seconds>(std::max(batch * fit->second.time(gemm_point(gemm)), floor));
}

Seconds MeasuredKernels::attention(const Attention& attention) const {
  if (attention.sequences == 0 || attention.query_heads == 0 || attention.queries == 0) {
    return Seconds();
  }
  const auto fit = attentions_.find({attention.type, attention.pass});
  if (fit == attentions_.end()) {
    no_samples(fmt::format("{} attention of {}", attention.pass == AttentionPass::kForward ? "forward" : "backward",
                           to_string(attention.type)),
               profile_name_);
  }
  return from_si<Seconds>(fit->second.time(attention_point(attention)));
}

Seconds MeasuredKernels::elementwise(const Elementwise& elementwise) const {
  const double bytes = static_cast<double>((elementwise.read + elementwise.written).value());
  if (bytes <= 0.0) {
    return Seconds();
  }
  const LogCurve& own = elementwise_[static_cast<std::size_t>(elementwise.kernel)];
  // A kernel that wasn't sampled is priced as a copy of as many bytes.
  const LogCurve& curve = own.empty() ? elementwise_[static_cast<std::size_t>(ElementwiseKernel::kCopy)] : own;
  if (curve.empty()) {
    no_samples(fmt::format("the {} kernel, nor of copy", to_string(elementwise.kernel)), profile_name_);
  }
  return from_si<Seconds>(curve(bytes));
}

}  // namespace trainyard::simulator
