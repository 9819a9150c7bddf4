#include "simulator/collective/curve_table.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace trainyard::simulator {

int band_of(double size) {
  int band = 0;
  while (band < kBands - 1 && size >= kBandLimits.at(static_cast<std::size_t>(band))) {
    ++band;
  }
  return band;
}

std::string_view to_string(CurveEvidence evidence) {
  constexpr std::array<std::string_view, 5> kNames = {"anchored", "own_series", "same_source", "same_class",
                                                      "borrowed"};
  return kNames.at(static_cast<std::size_t>(evidence));
}

const CurveConstants& constants_for(const CurveTable& table, const std::string& curve_class,
                                    const std::string& family) {
  const auto known = table.classes.find(curve_class);
  if (known != table.classes.end()) {
    return known->second.constants;
  }
  const auto borrowed = table.families.find(family);
  check(borrowed != table.families.end(), "every family has constants");
  return borrowed->second;
}

Curve make_curve(const CurveShape& shape, const CurveTable& table) {
  const CurveConstants& own = constants_for(table, shape.curve_class(), shape.family());
  Curve curve;
  curve.floor_s = own.floor_s * (shape.framework ? table.framework_floor : 1.0);
  curve.wire_factor = shape.wire_factor;
  curve.bandwidth = min(own.bandwidth * shape.bandwidth, shape.cap).si();
  curve.sharpness = table.sharpness;
  for (const CurveShape::Level& level : shape.levels) {
    const CurveConstants& constants = constants_for(table, level.curve_class, level.family);
    curve.levels.push_back({level.hops, constants.hop_s, level.fill_share * constants.fill_s, constants.fill_bytes});
  }
  if (shape.channel_caps) {
    curve.channel_caps.emplace();
    for (std::size_t p = 0; p < shape.channel_caps->size(); ++p) {
      curve.channel_caps->at(p) = shape.channel_caps->at(p).si();
    }
  }
  return curve;
}

namespace {

CurveEvidence evidence_for(const CurveTable& table, const std::string& curve_class, const std::string& series,
                           const std::string& source) {
  const auto known = table.classes.find(curve_class);
  if (known == table.classes.end()) {
    return CurveEvidence::kBorrowed;
  }
  const ClassCurve& curve = known->second;
  const auto among = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  if (curve.anchored) {
    return CurveEvidence::kAnchored;
  }
  if (among(curve.series, series)) {
    return CurveEvidence::kOwnSeries;
  }
  return among(curve.sources, source) ? CurveEvidence::kSameSource : CurveEvidence::kSameClass;
}

double half_width_of(const CurveTable& table, const std::string& curve_class, CurveEvidence evidence,
                     std::size_t band) {
  switch (evidence) {
    case CurveEvidence::kAnchored:
    case CurveEvidence::kOwnSeries:
      return table.classes.at(curve_class).band.at(band);
    case CurveEvidence::kSameSource:
      return table.same_source.at(band);
    case CurveEvidence::kSameClass:
      return table.same_class.at(band);
    case CurveEvidence::kBorrowed:
      break;
  }
  return table.borrowed.at(band);
}

}  // namespace

CurvePrediction predict(const CurveShape& shape, const CurveTable& table, std::optional<Bytes> size,
                        const std::string& series, const std::string& source) {
  const Curve curve = make_curve(shape, table);
  CurvePrediction prediction;
  prediction.curve_class = shape.curve_class();
  prediction.bus = curve.peak();
  if (size) {
    prediction.time = curve.time(*size);
    prediction.bus = *size * shape.wire_factor / prediction.time;
  }
  const auto band = static_cast<std::size_t>(size ? band_of(size->si()) : kBands - 1);
  prediction.evidence = evidence_for(table, shape.curve_class(), series, source);
  const double half_width = half_width_of(table, shape.curve_class(), prediction.evidence, band);
  prediction.low = prediction.bus * std::exp(-half_width);
  prediction.high = prediction.bus * std::exp(half_width);
  return prediction;
}

}  // namespace trainyard::simulator
