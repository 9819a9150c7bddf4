#!/usr/bin/env python3
"""Estimates a model's speed on a GPU that isn't here, from the compiled kernels and the data sheet.

    scripts/roofline.py kernels.json [--model llama-3.2-1b] [--gpu h100-sxm] [--sequence 2048] [--micro-batch 4]
                        [--accumulation 4]

kernels.json is scripts/kernel_report.py's --json. Each kernel of a training step in bf16 (fp32 gradients and AdamW) has
a least time, FLOPs over the unit's peak or bytes over the HBM's bandwidth, and an expected one:

    products    the accelerator's file: FLOPs / (peak e) (1 + k0 / k) + t0, as fitted to published steps
    attention   FLOPs / (peak 0.35), what FlashAttention-2 reaches of Hopper's peak with mma.sync, which our kernels use too
                (Shah et al. 2024, FlashAttention-3, arXiv:2407.08608, section 1). Least: FLOPs / (peak 0.629), what
                mma.sync itself reaches there on average, for only wgmma reaches the peak (Luo et al. 2025,
                arXiv:2501.12084, section 6.2, measured on an H800). Nothing was measured of ours.
    passes      bytes / min(bandwidth, bytes in flight / latency), Little's law: the warps that the compiled kernel's
                registers leave a multiprocessor, two loads of 16 bytes a lane each, 700 ns (HBM under load)

Both shares of attention are Hopper's, so only its GPUs are offered. The expected time is no promise: launches, L2 and
clocks under load are in none of it.
"""
import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SYNC_SHARE = 0.629  # of Hopper's peak
FLASH_SHARE = 0.35
LATENCY = 700e-9
PROCESSORS = {"h100-sxm": 132, "h200": 132}
BF16, FP32 = 2, 4


def quantity(text):
    number, unit = text.split()
    scale = {"T": 1e12, "G": 1e9, "M": 1e6, "u": 1e-6, "m": 1e-3}.get(unit[0], 1.0) if len(unit) > 1 else 1.0
    return float(number) * scale


class Machine:
    def __init__(self, name):
        file = json.loads((ROOT / "models" / "accelerators" / f"{name}.json").read_text())
        efficiency = {key: entry["value"] for key, entry in file["efficiency"].items()}
        self.name = name
        self.processors = PROCESSORS[name]
        self.peak = quantity(file["dense_peak"]["bf16"]["value"])
        self.bandwidth = quantity(file["memory_bandwidth"]["value"])
        self.gemm, self.k0 = efficiency["gemm"], efficiency["gemm_k0"]
        self.overhead = quantity(efficiency["gemm_overhead"])


class Step:
    """Sums kernels' times: name -> [calls, least, expected, what]."""

    def __init__(self, machine, kernels):
        self.machine = machine
        self.kernels = {kernel["name"]: kernel for kernel in kernels}
        self.rows = {}

    def add(self, name, calls, least, expected):
        row = self.rows.setdefault(name, [0, 0.0, 0.0])
        row[0] += calls
        row[1] += calls * least
        row[2] += calls * expected

    def product(self, name, m, n, k, calls=1, accumulates=False):
        at = self.machine
        flops = 2 * m * n * k
        moved = BF16 * (m * k + k * n) + (2 * FP32 if accumulates else BF16) * m * n
        least = max(flops / at.peak, moved / at.bandwidth)
        self.add(name, calls, least, max(flops / (at.peak * at.gemm) * (1 + at.k0 / k), moved / at.bandwidth) + at.overhead)

    def attention(self, kernel, flops, calls=1):
        self.require(kernel)
        self.add(kernel, calls, flops / (self.machine.peak * SYNC_SHARE), flops / (self.machine.peak * FLASH_SHARE))

    def passes(self, kernel, moved, calls=1):
        compiled = self.require(kernel)
        at = self.machine
        warps = compiled["blocks"] * compiled["threads"] // 32
        in_flight = at.processors * warps * 32 * 16 * 2
        self.add(kernel, calls, moved / at.bandwidth, moved / min(at.bandwidth, in_flight / LATENCY))

    def require(self, kernel):
        if kernel not in self.kernels:
            sys.exit(f"the report has no kernel {kernel}: make it anew with scripts/kernel_report.py --json")
        return self.kernels[kernel]


def llama_step(step, config, sequence, micro_batch, accumulation):
    """Adds a step's kernels (executor/transformer); returns parameters, tokens and model FLOPs of the step."""
    layers, h, f, v = (config[key] for key in ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size"))
    a, g = config["num_attention_heads"], config["num_key_value_heads"]
    d = config.get("head_dim") or h // a
    t = micro_batch * sequence
    width = 64 if d <= 64 else 128
    seen = sequence / 2
    each = layers * accumulation
    products = {"qkv": ((a + 2 * g) * d, h), "output": (h, a * d), "gate, up": (2 * f, h), "down": (h, f)}
    for name, (out, inputs) in products.items():
        step.product(f"product {name}", t, out, inputs, each)
        step.product(f"product {name}, input gradient", t, inputs, out, each)
        step.product(f"product {name}, weight gradient", out, inputs, t, each, accumulates=True)
    step.product("product head", t, v, h, accumulation)
    step.product("product head, input gradient", t, h, v, accumulation)
    step.product("product head, weight gradient", v, h, t, accumulation, accumulates=True)
    step.attention(f"AttentionForward<bf16, {width}>", 4 * t * a * d * seen, each)
    step.attention(f"AttentionQueryGradient<bf16, {width}>", 6 * t * a * d * seen, each)
    step.attention(f"AttentionKeyGradient<bf16, {width}>", 8 * t * a * d * seen, each)
    step.passes("AttentionDelta<bf16>", t * a * (2 * d * BF16 + 4), each)
    step.passes("RopeKernel<bf16>", 2 * BF16 * t * (a + g) * d, 2 * each)
    norms = (2 * layers + 1) * accumulation
    step.passes("NormForward<bf16>", 4 * BF16 * t * h, norms)
    step.passes("NormBackward<bf16>", 4 * BF16 * t * h, norms)
    step.passes("ColumnPartialSums<NormWeightTerm<bf16>, 8>", 2 * BF16 * t * h, norms)
    step.passes("SwigluForward<bf16>", 3 * BF16 * t * f, each)
    step.passes("SwigluBackward<bf16>", 5 * BF16 * t * f, each)
    step.passes("EmbedForward<bf16>", 2 * BF16 * t * h, accumulation)
    step.passes("EmbedBackward<bf16, fp32>", BF16 * t * h + 2 * FP32 * min(t, v) * h, accumulation)
    step.passes("LossStatisticsKernel<bf16>", BF16 * t * v, accumulation)
    step.passes("LossGradientKernel<bf16>", 2 * BF16 * t * v, accumulation)
    matrices = layers * sum(out * inputs for out, inputs in products.values()) + v * h
    parameters = matrices + (2 * layers + 1) * h + (0 if config["tie_word_embeddings"] else v * h)
    step.passes("SumOfSquares<fp32>", FP32 * parameters)
    step.passes("AdamWKernel<fp32, bf16>", (24 + FP32 + BF16) * parameters)
    tokens = t * accumulation
    return parameters, tokens, (6 * matrices + 6 * layers * a * d * sequence) * tokens


def groups(rows):
    """Sums of rows by kind, in the order of a step."""
    result = {}
    for name, (calls, least, expected) in rows.items():
        kind = ("products" if name.startswith("product") else "attention" if name.startswith("Attention")
                else "update" if name.startswith(("AdamW", "SumOf")) else "passes over memory")
        row = result.setdefault(kind, [0, 0.0, 0.0])
        for i, value in enumerate((calls, least, expected)):
            row[i] += value
    return result


def estimate(kernels, model="llama-3.2-1b", gpu="h100-sxm", sequence=2048, micro_batch=4, accumulation=4):
    config = json.loads((ROOT / "models" / "llm" / f"{model}.json").read_text())
    machine = Machine(gpu)
    step = Step(machine, kernels)
    parameters, tokens, flops = llama_step(step, config, sequence, micro_batch, accumulation)
    least = sum(row[1] for row in step.rows.values())
    expected = sum(row[2] for row in step.rows.values())
    return {"model": model, "gpu": gpu, "sequence": sequence, "micro_batch": micro_batch, "accumulation": accumulation,
            "parameters": parameters, "tokens": tokens, "rows": step.rows, "least_s": least, "expected_s": expected,
            "tokens_per_s": tokens / expected, "mfu": flops / expected / machine.peak,
            "least_tokens_per_s": tokens / least, "least_mfu": flops / least / machine.peak}


def markdown(answer):
    lines = [f"## {answer['model']} on one {answer['gpu']}, estimated", "",
             f"By `scripts/roofline.py` from the table above and the data sheet; nothing was run. A step of "
             f"{answer['accumulation']} micro-batches of {answer['micro_batch']} x {answer['sequence']} tokens in bf16 "
             f"with fp32 gradients and AdamW, {answer['parameters'] / 1e9:.2f} billion parameters. Least: by peak and "
             f"bandwidth alone, attention at {100 * SYNC_SHARE:.0f} % of the peak, which is mma.sync's. Expected: products "
             f"at the rate of published runs, attention at {100 * FLASH_SHARE:.0f} % of the peak, passes by the loads that "
             "the compiled kernels' occupancy keeps in flight.", "",
             "| | kernels | least, ms | expected, ms |", "|---|--:|--:|--:|"]
    for kind, (calls, least, expected) in groups(answer["rows"]).items():
        lines.append(f"| {kind} | {calls} | {1e3 * least:.1f} | {1e3 * expected:.1f} |")
    lines.append(f"| step | {sum(row[0] for row in answer['rows'].values())} | {1e3 * answer['least_s']:.1f} | "
                 f"{1e3 * answer['expected_s']:.1f} |")
    lines += ["", f"**{answer['tokens_per_s']:,.0f} tokens/s, {100 * answer['mfu']:.0f} % MFU expected**; "
              f"{answer['least_tokens_per_s']:,.0f} tokens/s, {100 * answer['least_mfu']:.0f} % MFU at most with these "
              "kernels.", ""]
    return "\n".join(lines) + "\n" + attention_markdown(answer["gpu"])


def attention_markdown(gpu):
    """Our attention beside cuDNN's, by what each multiplies and moves for a (query, key) pair that the mask lets through."""
    machine = Machine(gpu)
    kept = 2 * BF16  # the score's gradient, written by one kernel of cuDNN's backward and read by the next
    rows = {"ours, forward": (4, 0, SYNC_SHARE), "ours, backward": (14, 0, SYNC_SHARE), "cuDNN's, forward": (4, 0, 1),
            "cuDNN's, backward": (10, kept, 1)}
    sizes = (64, 128)
    lines = ["## Attention, ours and cuDNN's", "",
             f"For each (query, key) that the mask lets through and head size d, on one {gpu}; least time of 10^12 of them, "
             f"by the data sheet's peak (ours: {100 * SYNC_SHARE:.0f} % of it, mma.sync's) and bandwidth. Ours computes scores "
             "and their gradients twice in the backward, for each of its two kernels writes its sums once, in fixed order. "
             "cuDNN's deterministic backward computes them once; below compute capability 10 it keeps the gradients in "
             "between. Nothing was measured: `calibrate` on a GPU does.", "",
             "| | FLOP | HBM bytes | " + " | ".join(f"least, d = {d}" for d in sizes) + " |", "|---|--:|--:|--:|--:|"]
    for name, (flops, moved, share) in rows.items():
        least = [1e12 * max(flops * d / (machine.peak * share), moved / machine.bandwidth) for d in sizes]
        lines.append(f"| {name} | {flops} d | {moved or 'of operands'} | " + " | ".join(f"{time:.2f} s" for time in least)
                     + " |")
    return "\n".join(lines) + "\n"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("kernels")
    options.add_argument("--model", default="llama-3.2-1b")
    options.add_argument("--gpu", default="h100-sxm", choices=sorted(PROCESSORS))
    options.add_argument("--sequence", type=int, default=2048)
    options.add_argument("--micro-batch", type=int, default=4)
    options.add_argument("--accumulation", type=int, default=4)
    options = options.parse_args()
    kernels = json.loads(pathlib.Path(options.kernels).read_text())["kernels"]
    answer = estimate(kernels, options.model, options.gpu, options.sequence, options.micro_batch, options.accumulation)
    for name, (calls, least, expected) in sorted(answer["rows"].items(), key=lambda row: -row[1][2]):
        print(f"{name:<44}{calls:>6}  {1e3 * least:>9.2f} ms  {1e3 * expected:>9.2f} ms")
    print("\n" + markdown(answer))


if __name__ == "__main__":
    main()
