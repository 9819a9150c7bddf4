// Gradients that ZeRO 2 scatters beside a stage's passes.
//
//   one part after the other, on a stream of their own; the parts of a backward (head, layers, embedding) take two
//   buffers by turns, each backward the same one first
//   a part's backward begins when its buffer is free, and the pass behind the last when either is, whose place its
//   activations take
//   a pass and what is scattered beside it are slower: by a share of the time that they are together
//
// L layers of w each, scattered in r each, from two free buffers: the last ends after 2 w + (L - 2) max(w, r), and all
// is scattered r later, or 2 r - w where r > w. Times in seconds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/schedule/schedule.h"
#include "simulator/throughput/pass_times.h"

namespace trainyard::simulator {

// Of a pass: what it scatters, if it is a backward, and its layers' passes.
struct Scatter {
  Scattering behind;
  double layer_pass = 0.0;
  double slows = 0.0;
};

// Of a stage. In the header: it is asked for every pass that is played.
struct ScatterStream {
  std::array<double, 2> buffers{};  // when each is free
  double all = 0.0;                 // when both are

  double one_buffer() const { return std::min(buffers[0], buffers[1]); }

  // A pass that may begin then; returns its end.
  double after(double begin, double pass, const Scatter& next) {
    const Scattering& behind = next.behind;
    if (next.layer_pass <= 0.0) {
      return beside(begin, pass, next.slows);
    }
    double end = begin;
    std::size_t at = 0;
    if (behind.head > 0.0) {
      end = part(end, behind.head_pass, behind.head, next.slows, at);
      at = 1 - at;
    }
    end = layers(end, next, at);
    if (behind.embedding > 0.0) {
      end = part(end, behind.embedding_pass, behind.embedding, next.slows, at);
    }
    return end;
  }

 private:
  double beside(double begin, double pass, double slows) {
    if (all <= begin) {
      return begin + pass;
    }
    const double both = slows * std::min(all - begin, pass);
    for (double& buffer : buffers) {
      buffer += slows * std::clamp(buffer - begin, 0.0, pass);
    }
    all += both;
    return begin + pass + both;
  }

  double part(double begin, double pass, double scatter, double slows, std::size_t at) {
    const double end = beside(std::max(begin, buffers[at]), pass, slows);
    all = std::max(end, all) + scatter;
    buffers[at] = all;
    return end;
  }

  // Beyond the second, layers and scatters take turns, whichever take longer. Leaves the buffer that is next in `at`.
  double layers(double begin, const Scatter& next, std::size_t& at) {
    const double each = next.behind.layer;
    const double rest = next.behind.layers - 2.0;
    double end = part(begin, next.layer_pass, each, next.slows, at);
    at = 1 - at;
    if (rest < 0.0) {
      return end;
    }
    end = part(end, next.layer_pass, each, next.slows, at);
    at = 1 - at;
    if (rest > 0.0) {
      const double both = next.slows * std::min(next.layer_pass, each);
      const double pass = next.layer_pass + both;
      const double scatter = each + both;
      end = std::max(end + rest * pass, all + (rest - 2.0) * scatter + pass);
      const double before = std::max(all + (rest - 1.0) * scatter, end - pass + scatter);
      all = std::max(before, end) + each;
      at = static_cast<std::int64_t>(rest) % 2 == 0 ? at : 1 - at;
      buffers[at] = before;
      buffers[1 - at] = all;
    }
    return end;
  }
};

Scatter scatter_of(const PassTimes& pass, SlotKind kind, bool apart);

bool scatters_gradients(const std::vector<PassTimes>& passes);

// What a stage's passes take, one micro-batch after the other and with nothing else to wait for, beside what they
// scatter: the passes with the rest added to their weights'. Under GPipe backwards alone follow each other.
std::vector<PassTimes> beside_scattering(const PipelineShape& shape, const std::vector<PassTimes>& passes);

}  // namespace trainyard::simulator
