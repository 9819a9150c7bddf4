// LaunchedDevice: the kernels of Device as launches of executor/device/cuda/kernels.
//
// Base gives, beside the rest of Device,
//   launch(Stream, const Kernel&)            runs a kernel (kernels/launch_shape.h) in the stream's order
//   float* scratch(Stream, floats)           memory for the stream's next kernels alone
//   count(FlopCount, products)               adds to counters()
//   multiply_fp8(Stream, const Fp8Product&)  and matmul() of all types but fp8
// The CUDA device is one; the tests' emulated one, on the CPU, is the other.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/error.h"
#include "executor/device/adamw_factors.h"
#include "executor/device/cuda/kernels/attention_backward.h"
#include "executor/device/cuda/kernels/column_kernels.h"
#include "executor/device/cuda/kernels/flat_kernels.h"
#include "executor/device/cuda/kernels/fp8_kernels.h"
#include "executor/device/cuda/kernels/row_kernels.h"
#include "executor/device/cuda/kernels/sum_kernels.h"
#include "executor/device/device.h"
#include "executor/device/element_type.h"
#include "executor/device/fp8_product.h"

namespace trainyard::executor {

template <class Base>
class LaunchedDevice : public Base {
 public:
  using Base::Base;

  void matmul(Stream stream, const Gemm& gemm, ConstValues a, ConstValues b, Values c, ConstValues bias) override {
    if (gemm.type != DataType::kFp8) {
      Base::matmul(stream, gemm, a, b, c, bias);
      return;
    }
    check(gemm.batch == 1 && a.type == DataType::kBf16 && b.type == DataType::kBf16, "an fp8 product is of bf16");
    check(!bias || (bias.type == DataType::kBf16 && !gemm.accumulate), "a bias is added to a product");
    require_fp8_sides(gemm);
    const std::int64_t a_elements = gemm.m * gemm.k, b_elements = gemm.n * gemm.k;
    constexpr std::int64_t kNumbers = 4;  // two largest magnitudes, two inverse scales
    auto* memory = reinterpret_cast<std::byte*>(this->scratch(stream, (a_elements + b_elements) / 4 + kNumbers));
    auto* largest = reinterpret_cast<std::uint32_t*>(memory + a_elements + b_elements);
    auto* inverses = reinterpret_cast<float*>(largest + 2);
    this->zero(stream, largest, ByteCount(2 * static_cast<std::int64_t>(sizeof(std::uint32_t))));
    const bool a_turned = gemm.transpose == Transpose::kTN, b_turned = gemm.transpose != Transpose::kNT;
    const Fp8Operand left{memory, gemm.gradient == GradientOperand::kA, inverses};
    const Fp8Operand right{memory + a_elements, gemm.gradient == GradientOperand::kB, inverses + 1};
    narrow(stream, a.as<Bfloat16>(), left, largest, gemm.m, gemm.k, a_turned);
    narrow(stream, b.as<Bfloat16>(), right, largest + 1, gemm.n, gemm.k, b_turned);
    this->multiply_fp8(stream, {gemm.m, gemm.n, gemm.k, left, right, c, gemm.accumulate, bias});
  }

  void attention_forward(Stream stream, const Attention& attention, ConstValues qkv, Values out,
                         float* log_sum_exp) override {
    const AttentionShape at = attention_shape(attention);
    with_attention(attention, common_type({qkv, out}), [&]<class T, int kWidth>(Instance<T, kWidth>) {
      const bool whole = whole_rows<T>(at, qkv.data, out.data);
      this->launch(stream, AttentionForward<T, kWidth>{at, whole, qkv.as<T>(), out.as<T>(), log_sum_exp});
    });
    this->count(attention_flops(attention), 0);
  }

  void attention_backward(Stream stream, const Attention& attention, ConstValues qkv, ConstValues out,
                          const float* log_sum_exp, ConstValues out_grad, Values qkv_grad) override {
    const AttentionShape at = attention_shape(attention);
    float* delta = this->scratch(stream, at.sequences * at.heads * at.rows);
    with_attention(attention, common_type({qkv, out, out_grad, qkv_grad}),
                   [&]<class T, int kWidth>(Instance<T, kWidth>) {
                     const bool whole = whole_rows<T>(at, qkv.data, out_grad.data);
                     this->launch(stream, AttentionDelta<T>{at, out.as<T>(), out_grad.as<T>(), delta});
                     this->launch(stream, AttentionQueryGradient<T, kWidth>{at, whole, qkv.as<T>(), out_grad.as<T>(),
                                                                            log_sum_exp, delta, qkv_grad.as<T>()});
                     this->launch(stream, AttentionKeyGradient<T, kWidth>{at, whole, qkv.as<T>(), out_grad.as<T>(),
                                                                          log_sum_exp, delta, qkv_grad.as<T>()});
                   });
    this->count(attention_flops(attention), 0);
  }

  void embed_forward(Stream stream, const std::int32_t* tokens, ConstValues table, Values out, std::int64_t t,
                     std::int64_t h, std::int64_t first_row, std::int64_t rows) override {
    with_element_type(common_type({table, out}), [&]<class T>(T) {
      this->launch(
          stream,
          EmbedForward<T>{{}, tokens, table.as<T>(), out.as<T>(), t, h, first_row, rows, packs<T>(h, {table, out})});
    });
  }
  void embed_backward(Stream stream, const std::int32_t* tokens, ConstValues out_grad, Values table_grad,
                      std::int64_t t, std::int64_t h, std::int64_t first_row, std::int64_t rows) override {
    with_gradient_type(out_grad.type, table_grad.type, [&]<class T, class G>(T, G) {
      this->launch(stream, EmbedBackward<T, G>{tokens, out_grad.as<T>(), table_grad.as<G>(), t, h, first_row, rows});
    });
  }
  void position_forward(Stream stream, ConstValues positions, Values out, std::int64_t t, std::int64_t h,
                        std::int64_t sequence) override {
    with_element_type(common_type({positions, out}), [&]<class T>(T) {
      this->launch(stream, PositionForward<T>{
                               {}, positions.as<T>(), out.as<T>(), t, h, sequence, packs<T>(h, {positions, out})});
    });
  }
  void position_backward(Stream stream, ConstValues out_grad, Values positions_grad, std::int64_t t, std::int64_t h,
                         std::int64_t sequence, bool accumulate) override {
    with_gradient_type(out_grad.type, positions_grad.type, [&]<class T, class G>(T, G) {
      this->launch(stream,
                   PositionBackward<T, G>{out_grad.as<T>(), positions_grad.as<G>(), t, h, sequence, accumulate});
    });
  }
  void add(Stream stream, ConstValues a, ConstValues b, Values out, std::int64_t elements) override {
    with_element_type(common_type({a, b, out}), [&]<class T>(T) {
      this->launch(stream, AddKernel<T>{{}, a.as<T>(), b.as<T>(), out.as<T>(), elements, packs<T>(0, {a, b, out})});
    });
  }
  void bias_backward(Stream stream, ConstValues grad, Values bias_grad, std::int64_t t, std::int64_t n,
                     bool accumulate) override {
    with_gradient_type(grad.type, bias_grad.type, [&]<class T, class G>(T, G) {
      column_sums<T, G>(stream, BiasTerm<T>{grad.as<T>()}, bias_grad, t, n, accumulate, packs<T>(n, {grad}));
    });
  }

  void norm_forward(Stream stream, ConstValues residual, ConstValues branch, ConstValues weight, Values sum,
                    Values normed, float* rstd, std::int64_t t, std::int64_t h, float epsilon) override {
    with_element_type(common_type({residual, branch, weight, sum, normed}), [&]<class T>(T) {
      this->launch(stream, NormForward<T>{{},
                                          residual.as<T>(),
                                          branch.as<T>(),
                                          weight.as<T>(),
                                          sum.as<T>(),
                                          normed.as<T>(),
                                          rstd,
                                          t,
                                          h,
                                          epsilon,
                                          packs<T>(h, {residual, branch, weight, sum, normed})});
    });
  }
  void norm_backward(Stream stream, ConstValues normed_grad, ConstValues residual, const float* rstd,
                     ConstValues weight, ConstValues incoming, Values residual_grad, std::int64_t t,
                     std::int64_t h) override {
    with_element_type(common_type({normed_grad, residual, weight, incoming, residual_grad}), [&]<class T>(T) {
      this->launch(stream, NormBackward<T>{{},
                                           normed_grad.as<T>(),
                                           residual.as<T>(),
                                           rstd,
                                           weight.as<T>(),
                                           incoming.as<T>(),
                                           residual_grad.as<T>(),
                                           t,
                                           h,
                                           packs<T>(h, {normed_grad, residual, weight, incoming, residual_grad})});
    });
  }
  void norm_weight_backward(Stream stream, ConstValues normed_grad, ConstValues residual, const float* rstd,
                            Values weight_grad, std::int64_t t, std::int64_t h, bool accumulate) override {
    with_gradient_type(common_type({normed_grad, residual}), weight_grad.type, [&]<class T, class G>(T, G) {
      column_sums<T, G>(stream, NormWeightTerm<T>{normed_grad.as<T>(), residual.as<T>(), rstd}, weight_grad, t, h,
                        accumulate, packs<T>(h, {normed_grad, residual}));
    });
  }
  void layer_norm_forward(Stream stream, ConstValues residual, ConstValues branch, ConstValues weight, ConstValues bias,
                          Values sum, Values normed, float* moments, std::int64_t t, std::int64_t h,
                          float epsilon) override {
    with_element_type(common_type({residual, branch, weight, bias, sum, normed}), [&]<class T>(T) {
      this->launch(stream, LayerNormForward<T>{{},
                                               residual.as<T>(),
                                               branch.as<T>(),
                                               weight.as<T>(),
                                               bias.as<T>(),
                                               sum.as<T>(),
                                               normed.as<T>(),
                                               moments,
                                               t,
                                               h,
                                               epsilon,
                                               packs<T>(h, {residual, branch, weight, bias, sum, normed})});
    });
  }
  void layer_norm_backward(Stream stream, ConstValues normed_grad, ConstValues residual, const float* moments,
                           ConstValues weight, ConstValues incoming, Values residual_grad, std::int64_t t,
                           std::int64_t h) override {
    with_element_type(common_type({normed_grad, residual, weight, incoming, residual_grad}), [&]<class T>(T) {
      this->launch(stream, LayerNormBackward<T>{{},
                                                normed_grad.as<T>(),
                                                residual.as<T>(),
                                                moments,
                                                weight.as<T>(),
                                                incoming.as<T>(),
                                                residual_grad.as<T>(),
                                                t,
                                                h,
                                                packs<T>(h, {normed_grad, residual, weight, incoming, residual_grad})});
    });
  }
  void layer_norm_weight_backward(Stream stream, ConstValues normed_grad, ConstValues residual, const float* moments,
                                  Values weight_grad, Values bias_grad, std::int64_t t, std::int64_t h,
                                  bool accumulate) override {
    with_gradient_type(common_type({normed_grad, residual}), weight_grad.type, [&]<class T, class G>(T, G) {
      column_sums<T, G>(stream, LayerNormWeightTerm<T>{normed_grad.as<T>(), residual.as<T>(), moments}, weight_grad, t,
                        h, accumulate, packs<T>(h, {normed_grad, residual}));
    });
    bias_backward(stream, normed_grad, bias_grad, t, h, accumulate);
  }

  void rope_forward(Stream stream, const RopeShape& shape, Values qkv) override { rope(stream, shape, qkv, 1.0f); }
  void rope_backward(Stream stream, const RopeShape& shape, Values qkv_grad) override {
    rope(stream, shape, qkv_grad, -1.0f);
  }
  void swiglu_forward(Stream stream, ConstValues gate_up, Values activated, std::int64_t t, std::int64_t f) override {
    with_element_type(common_type({gate_up, activated}), [&]<class T>(T) {
      this->launch(stream,
                   SwigluForward<T>{{}, gate_up.as<T>(), activated.as<T>(), t, f, packs<T>(f, {gate_up, activated})});
    });
  }
  void swiglu_backward(Stream stream, ConstValues gate_up, ConstValues activated_grad, Values gate_up_grad,
                       std::int64_t t, std::int64_t f) override {
    with_element_type(common_type({gate_up, activated_grad, gate_up_grad}), [&]<class T>(T) {
      this->launch(stream, SwigluBackward<T>{{},
                                             gate_up.as<T>(),
                                             activated_grad.as<T>(),
                                             gate_up_grad.as<T>(),
                                             t,
                                             f,
                                             packs<T>(f, {gate_up, activated_grad, gate_up_grad})});
    });
  }
  void gelu_forward(Stream stream, ConstValues in, Values activated, std::int64_t elements) override {
    with_element_type(common_type({in, activated}), [&]<class T>(T) {
      this->launch(stream, GeluForward<T>{{}, in.as<T>(), activated.as<T>(), elements, packs<T>(0, {in, activated})});
    });
  }
  void gelu_backward(Stream stream, ConstValues in, ConstValues activated_grad, Values in_grad,
                     std::int64_t elements) override {
    with_element_type(common_type({in, activated_grad, in_grad}), [&]<class T>(T) {
      this->launch(stream, GeluBackward<T>{{},
                                           in.as<T>(),
                                           activated_grad.as<T>(),
                                           in_grad.as<T>(),
                                           elements,
                                           packs<T>(0, {in, activated_grad, in_grad})});
    });
  }

  void loss_statistics(Stream stream, ConstValues logits, const std::int32_t* targets, float* statistics,
                       std::int64_t t, std::int64_t v, std::int64_t first_row) override {
    with_element_type(logits.type, [&]<class T>(T) {
      this->launch(stream, LossStatisticsKernel<T>{
                               {}, logits.as<T>(), targets, statistics, t, v, first_row, packs<T>(v, {logits})});
    });
  }
  void loss_gradient(Stream stream, Values logits, const std::int32_t* targets, const float* statistics, int parts,
                     std::int64_t t, std::int64_t v, std::int64_t first_row, float scale,
                     std::int64_t* loss_sum) override {
    with_element_type(logits.type, [&]<class T>(T) {
      this->launch(
          stream,
          LossGradientKernel<T>{
              {}, logits.as<T>(), targets, statistics, parts, t, v, first_row, scale, loss_sum, packs<T>(v, {logits})});
    });
  }

  void sum_of_squares(Stream stream, ConstValues values, std::int64_t elements, std::int64_t* sum) override {
    with_element_type(values.type, [&]<class T>(T) {
      this->launch(stream, SumOfSquares<T>{values.as<T>(), elements, sum, aligned({values})});
    });
  }
  void adamw(Stream stream, const AdamW& options, float* master, Values working, ConstValues gradients, float* momentum,
             float* variance, const float* clip_scale, std::int64_t elements) override {
    const AdamWFactors factors = adamw_factors(options);
    with_update_types(gradients.type, working, [&]<class G, class W>(G, W) {
      this->launch(stream, AdamWKernel<G, W>{{},
                                             factors,
                                             master,
                                             working.as<W>(),
                                             gradients.as<G>(),
                                             momentum,
                                             variance,
                                             clip_scale,
                                             elements,
                                             aligned({master, working, gradients, momentum, variance})});
    });
  }
  void sgd(Stream stream, float learning_rate, float momentum, float weight_decay, float* master, Values working,
           ConstValues gradients, float* velocity, const float* clip_scale, std::int64_t elements) override {
    with_update_types(gradients.type, working, [&]<class G, class W>(G, W) {
      this->launch(stream, SgdKernel<G, W>{{},
                                           learning_rate,
                                           momentum,
                                           weight_decay,
                                           master,
                                           working.as<W>(),
                                           gradients.as<G>(),
                                           velocity,
                                           clip_scale,
                                           elements,
                                           aligned({master, working, gradients, velocity})});
    });
  }
  void clip_scale(Stream stream, const std::int64_t* sum, float limit, const GradientScale& gradients,
                  float* scale) override {
    this->launch(stream, ClipScaleKernel{sum, limit, gradients, scale});
  }

 private:
  static void require_fp8_sides(const Gemm& gemm) {
    if (gemm.m % kFp8Sides != 0 || gemm.n % kFp8Sides != 0 || gemm.k % kFp8Sides != 0) {
      throw Error("the GPU multiplies fp8 matrices whose sides are multiples of 16, not " + std::to_string(gemm.m) +
                      " x " + std::to_string(gemm.n) + " x " + std::to_string(gemm.k),
                  "--precision fp8", "choose --micro-batch and --tp so that tokens and widths are, or use bf16");
    }
  }
  // `to` = `from` in fp8 as [rows, columns]; turned: `from` is [columns, rows].
  void narrow(Stream stream, const Bfloat16* from, const Fp8Operand& to, std::uint32_t* largest, std::int64_t rows,
              std::int64_t columns, bool turned) {
    const std::int64_t elements = rows * columns;
    const bool vectors = aligned({from});
    this->launch(stream, LargestMagnitude<Bfloat16>{{}, from, elements, largest, vectors});
    const auto cast = [&]<class F>(F* data) {
      auto* inverse = const_cast<float*>(to.inverse);
      if (turned) {
        this->launch(stream, Float8CastTurned<Bfloat16, F>{from, data, largest, inverse, columns, rows, vectors});
      } else {
        this->launch(stream, Float8Cast<Bfloat16, F>{{}, from, data, largest, inverse, elements, vectors});
      }
    };
    auto* data = const_cast<void*>(to.data);
    to.gradient ? cast(static_cast<Float8E5M2*>(data)) : cast(static_cast<Float8E4M3*>(data));
  }

  template <class T, int kWidth>
  struct Instance {};

  static AttentionShape attention_shape(const Attention& attention) {
    check(attention.queries == attention.keys, "queries, keys and values share the rows of qkv");
    check(attention.key_heads > 0 && attention.query_heads % attention.key_heads == 0,
          "query heads are a multiple of key heads");
    return AttentionShape(attention);
  }

  // The tile that holds a head: 64 or 128 elements.
  template <class Visit>
  static void with_attention(const Attention& attention, DataType type, const Visit& visit) {
    const std::int64_t widest = std::max(attention.head_size, attention.values());
    if (widest > 128) {
      throw Error("heads of " + std::to_string(widest) + " elements are larger than the GPU's attention kernels take",
                  "the model's head size", "heads of up to 128 elements run; or run on the CPU (--device cpu)");
    }
    with_element_type(type, [&]<class T>(T) { widest <= 64 ? visit(Instance<T, 64>{}) : visit(Instance<T, 128>{}); });
  }

  static bool aligned(std::initializer_list<ConstValues> arrays) {
    bool all = true;
    for (const ConstValues& array : arrays) {
      all = all && reinterpret_cast<std::uintptr_t>(array.data) % 16 == 0;  // null is
    }
    return all;
  }
  // Rows of n elements from these addresses can be taken 16 bytes at a time.
  template <class T>
  static bool packs(std::int64_t n, std::initializer_list<ConstValues> arrays) {
    return n % (16 / static_cast<std::int64_t>(sizeof(T))) == 0 && aligned(arrays);
  }

  void rope(Stream stream, const RopeShape& shape, Values qkv, float direction) {
    with_element_type(qkv.type, [&]<class T>(T) {
      this->launch(stream, RopeKernel<T>{shape, qkv.as<T>(), direction,
                                         packs<T>(shape.head_size / 2, {qkv, shape.cosines, shape.sines})});
    });
  }

  template <class T, class G, class Term>
  void column_sums(Stream stream, const Term& term, Values to, std::int64_t t, std::int64_t n, bool accumulate,
                   bool vectors) {
    const std::int64_t chunks = column_chunks(t);
    float* partial = this->scratch(stream, chunks * n);
    if (vectors) {
      this->launch(stream, ColumnPartialSums<Term, 16 / static_cast<int>(sizeof(T))>{term, partial, t, n});
    } else {
      this->launch(stream, ColumnPartialSums<Term, 1>{term, partial, t, n});
    }
    this->launch(stream, ColumnSums<G>{partial, to.as<G>(), chunks, n, accumulate});
  }
};

}  // namespace trainyard::executor
