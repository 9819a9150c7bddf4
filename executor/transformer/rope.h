// Rotary position tables (Su et al. 2021), with Llama 3.1's stretching.
//
//   angle(p, i) = p * w_i,   w_i = theta^(-2i/d),   i = 0 .. d/2-1
//
// Stretching ("rope_type": "llama3", transformers' modeling_rope_utils): with wavelength L_i = 2 pi / w_i,
// original context C, factor s, low and high frequency factors l and u:
//   L_i < C/u   w_i unchanged
//   L_i > C/l   w_i / s
//   between     (1-m) w_i / s + m w_i,   m = (C/L_i - l) / (u - l)
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/model_spec.h"

namespace trainyard::executor {

struct RopeTables {
  std::vector<float> cosines;  // [sequence, d/2]
  std::vector<float> sines;
};

// Angles in double, rounded once at the end.
RopeTables rope_tables(const ModelSpec& model, std::int64_t sequence);

// The w_i.
std::vector<double> rope_frequencies(const ModelSpec& model);

}  // namespace trainyard::executor
