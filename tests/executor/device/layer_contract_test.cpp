// What else a layer, the embedding and the head are made of, on every device against the CPU: embeddings, activations,
// rotary positions, the loss.
#include "core/program/norm_sum.h"
#include "tests/executor/device/device_contract.h"

namespace trainyard::executor {
namespace {

TEST_P(DeviceContract, Embeddings) {
  const std::int64_t t = 300, rows = 40, first = 7;  // more than the 256 that a block looks at at once
  // About 5 tokens a row. The CPU rounds a bf16 sum at every token, the kernel once for 256.
  const double deviation = GetParam().type == DataType::kFp32 ? 6.0 : 20.0;
  for (const std::int64_t h : {16, 7}) {
    SCOPED_TRACE(h);
    expect_same(
        [&](Arrays& x) {
          const std::int32_t* tokens = x.raw(token_values(t, 60, 1));
          const Values table = x.values(rows * h, 2), out = x.unwritten(t * h), grad = x.values(t * h, 3);
          x->embed_forward(kStream, tokens, table, out, t, h, first, rows);
          x.read(out, t * h);
          for (const DataType type : {x.type(), DataType::kFp32}) {
            const Values table_grad = x.of_type(normal_values(rows * h, 4), type);
            x->embed_backward(kStream, tokens, grad, table_grad, t, h, first, rows);
            x.read(table_grad, rows * h);
          }
          const std::int64_t sequence = t / 2;
          const Values positions = x.values(sequence * h, 5);
          x->position_forward(kStream, positions, out, t, h, sequence);
          x.read(out, t * h);
          const Values positions_grad = x.values(sequence * h, 6);
          x->position_backward(kStream, grad, positions_grad, t, h, sequence, true);
          x.read(positions_grad, sequence * h);
          x->position_backward(kStream, grad, positions_grad, t, h, sequence, false);
          x.read(positions_grad, sequence * h);
        },
        deviation);
  }
}

TEST_P(DeviceContract, Activations) {
  for (const std::int64_t f : kWidths) {
    SCOPED_TRACE(f);
    const std::int64_t t = 3;
    expect_same([&](Arrays& x) {
      const Values gate_up = x.values(t * 2 * f, 1), grad = x.values(t * f, 2), out = x.unwritten(t * f);
      const Values gate_up_grad = x.unwritten(t * 2 * f), sum = x.unwritten(t * f);
      x->swiglu_forward(kStream, gate_up, out, t, f);
      x->swiglu_backward(kStream, gate_up, grad, gate_up_grad, t, f);
      x.read(out, t * f);
      x.read(gate_up_grad, t * 2 * f);
      x->gelu_forward(kStream, gate_up, gate_up_grad, t * 2 * f);
      x.read(gate_up_grad, t * 2 * f);
      x->gelu_backward(kStream, gate_up, out, sum, t * f);
      x.read(sum, t * f);
      x->add(kStream, grad, out, sum, t * f);
      x.read(sum, t * f);
    });
  }
}

TEST_P(DeviceContract, RotaryPositions) {
  for (const std::int64_t d : {2, 10, 32, 128}) {
    SCOPED_TRACE(d);
    RopeShape shape{.tokens = 14, .sequence = 7, .query_heads = 5, .key_heads = 2, .head_size = d};
    const std::int64_t size = shape.tokens * (shape.query_heads + 2 * shape.key_heads) * d;
    expect_same([&](Arrays& x) {
      RopeShape here = shape;
      here.cosines = x.floats(shape.sequence * d / 2, 1);
      here.sines = x.floats(shape.sequence * d / 2, 2);
      const Values qkv = x.values(size, 3);
      x->rope_forward(kStream, here, qkv);
      x.read(qkv, size);
      x->rope_backward(kStream, here, qkv);
      x.read(qkv, size);
    });
  }
}

TEST_P(DeviceContract, LossOverSlicesOfTheVocabulary) {
  for (const std::int64_t v : {64, 77, 4104}) {
    SCOPED_TRACE(v);
    const std::int64_t t = 6;
    expect_same([&](Arrays& x) {
      const std::int32_t* targets = x.raw(token_values(t, static_cast<std::int32_t>(2 * v), 1));
      const Values slices[] = {x.values(t * v, 2, 3.0), x.values(t * v, 3, 3.0)};
      float* statistics = x.unwritten_floats(2 * t * 3);
      std::int64_t* sum = x.raw(std::vector<std::int64_t>(kSumWords, 0));
      for (int part = 0; part < 2; ++part) {
        x->loss_statistics(kStream, slices[part], targets, statistics + part * t * 3, t, v, part * v);
      }
      x->loss_gradient(kStream, slices[0], targets, statistics, 2, t, v, 0, 0.0f, nullptr);  // leaves the logits
      for (int part = 0; part < 2; ++part) {
        x->loss_gradient(kStream, slices[part], targets, statistics, 2, t, v, part * v, 0.25f,
                         part == 0 ? sum : nullptr);
        x.read(slices[part], t * v);
      }
      std::vector<std::int64_t> words(kSumWords);
      x->copy_out(kStream, words.data(), sum, ByteCount(kSumWords * 8));
      x->synchronize();
      x.results.push_back({static_cast<float>(value(words))});
    });
  }
}

}  // namespace
}  // namespace trainyard::executor
