// CurveTable: the fitted constants of every class, and how far measurements lie from them.
//
// A class is an accelerator's mechanism ("ampere/ring") or a fabric's ("efa_v1/tree"); a family what classes are
// kinds of ("node/ring"). A class without curves of its own borrows its family's constants, which the fit
// estimates too (curve_fit.h), and gets a wider band.
//
// Band: predicted busbw x exp(+-h), h such that 4 of 5 measurements fall inside:
//   own series      a series the constants were fitted on: residuals of the class, by size
//   same source     another series of a source the class was fitted on: residuals when the series is left out
//   same class      another system of a class that was fitted: residuals when its source is left out of the fit
//   borrowed        a class without curves: residuals when all sources of a class are left out
//   anchored        the user's own log took part in the fit: residuals of that log, never under kLeastBand
// File: models/collectives/curves.json ("document": "collective_curves"), written by `trainyard validate --fit`.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulator/collective/curve.h"
#include "simulator/collective/curve_shape.h"

namespace trainyard::simulator {

// Sizes S are banded by: below 64 KiB, 1 MiB, 16 MiB, 128 MiB, 1 GiB, and above. Half-widths are of the log.
constexpr int kBands = 6;
constexpr std::array<double, kBands - 1> kBandLimits = {0x1p16, 0x1p20, 0x1p24, 0x1p27, 0x1p30};
using Bands = std::array<double, kBands>;
int band_of(double size);

struct ClassCurve {
  std::string family;
  CurveConstants constants;
  std::vector<std::string> series;   // what they were fitted on
  std::vector<std::string> sources;  // whose measurements those are
  int points = 0;
  Bands band{};           // own series
  bool anchored = false;  // to a user's log: `band` is for every question
};

struct CurveTable {
  std::map<std::string, ClassCurve> classes;
  std::map<std::string, CurveConstants> families;
  double sharpness = 1.0;        // p
  double framework_floor = 1.0;  // H of a training loop, of nccl-tests'
  Bands same_source{};
  Bands same_class{};
  Bands borrowed{};
};

enum class CurveEvidence : std::uint8_t { kAnchored, kOwnSeries, kSameSource, kSameClass, kBorrowed };
std::string_view to_string(CurveEvidence evidence);  // "anchored", "own_series", ...

struct CurvePrediction {
  Seconds time;
  BytesPerSecond bus;  // and its 80 % interval
  BytesPerSecond low;
  BytesPerSecond high;
  CurveEvidence evidence = CurveEvidence::kBorrowed;
  std::string curve_class;
};

// The class's constants, or its family's.
const CurveConstants& constants_for(const CurveTable& table, const std::string& curve_class, const std::string& family);

Curve make_curve(const CurveShape& shape, const CurveTable& table);

// `series` and `source` name the measured series that the question belongs to, empty for none. No size: the plateau.
CurvePrediction predict(const CurveShape& shape, const CurveTable& table, std::optional<Bytes> size,
                        const std::string& series = {}, const std::string& source = {});

CurveTable parse_curve_table(const std::string& text, const std::string& where);
std::string curve_table_text(const CurveTable& table, const std::string& provenance);

}  // namespace trainyard::simulator
