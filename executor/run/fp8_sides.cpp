#include "executor/run/fp8_sides.h"

#include <fmt/format.h>

#include <string>
#include <variant>

#include "core/error.h"
#include "core/program/program.h"
#include "executor/device/fp8_product.h"

namespace trainyard::executor {

namespace {

bool fits(std::int64_t side) { return side % kFp8Sides == 0; }

std::string tokens_hint(const Layout& layout, std::int64_t sequence) {
  const std::string share = layout.context > 1 ? fmt::format(" / {} (--cp)", layout.context) : std::string();
  return fmt::format("tokens are --micro-batch x --sequence{}, {} x {} here", share, layout.micro_batch, sequence);
}

std::string widths_hint(const Layout& layout) {
  return layout.tensor > 1 ? fmt::format("widths are the model's over --tp {}: a lower one may do", layout.tensor)
                           : std::string("widths are the model's own");
}

// m tokens, n outputs, k inputs: a forward product.
std::string hint(const Gemm& gemm, const Plan& plan) {
  const bool widths = !fits(gemm.n) || !fits(gemm.k);
  std::string text = fits(gemm.m) ? std::string() : tokens_hint(plan.layout, plan.training.sequence);
  if (widths) {
    text += (text.empty() ? "" : "; ") + widths_hint(plan.layout);
  }
  return text + "; or plan with --precision bf16, or check the numbers of fp8 with --device cpu";
}

}  // namespace

void require_fp8_sides(const Plan& plan) {
  if (plan.layout.compute_type != DataType::kFp8) {
    return;
  }
  for (const Segment& segment : compile(plan).segments) {
    for (const Operation& operation : segment.forward) {
      const auto* gemm = std::get_if<Gemm>(&operation);
      if (gemm != nullptr && gemm->type == DataType::kFp8 && !(fits(gemm->m) && fits(gemm->n) && fits(gemm->k))) {
        throw Error(
            fmt::format("a GPU multiplies fp8 matrices whose sides are multiples of {}; a product of \"{}\" has "
                        "{} tokens, {} outputs and {} inputs",
                        kFp8Sides, to_string(segment.kind), gemm->m, gemm->n, gemm->k),
            "plan#/layout/compute_type", hint(*gemm, plan));
      }
    }
  }
}

}  // namespace trainyard::executor
