"""Every kind of layout: losses on GPUs against those on the CPU, step by step; and a rank killed, which ends the rest."""
import json
import math
import re
import shutil
import time

from .running import Skipped, last_lines, reason, record_lines, training_text

# name, ranks, flags of `plan`
LAYOUTS = [
    ("1 rank", 1, ["--micro-batch", 2]),
    ("1 rank, recompute", 1, ["--micro-batch", 2, "--recompute", "full"]),
    ("dp2", 2, ["--dp", 2, "--zero", 0]),
    ("dp2 zero1", 2, ["--dp", 2, "--zero", 1]),
    ("tp2", 2, ["--tp", 2]),
    ("tp2 sp", 2, ["--tp", 2, "--sequence-parallel"]),
    ("pp2 1f1b", 2, ["--pp", 2, "--schedule", "1f1b", "--micro-batch", 1]),
    ("pp2 gpipe", 2, ["--pp", 2, "--schedule", "gpipe", "--micro-batch", 1]),
    ("tp2 pp2", 4, ["--tp", 2, "--pp", 2, "--dp", 1, "--schedule", "1f1b", "--micro-batch", 1]),
    ("dp2 tp2 zero1", 4, ["--dp", 2, "--tp", 2, "--pp", 1, "--zero", 1]),
]
GPT2_LAYOUTS = [
    ("gpt2, 1 rank", 1, ["--micro-batch", 2]),
    ("gpt2 tp2", 2, ["--tp", 2]),
    ("gpt2 pp2, tied table", 2, ["--pp", 2, "--schedule", "1f1b", "--micro-batch", 1]),
    ("gpt2 dp2 zero1", 2, ["--dp", 2, "--zero", 1]),
]
PARITY = {"fp32": 1e-4, "bf16": 3e-2, "fp16": 4e-3, "fp8": 3e-2}  # largest difference of a step's loss, nats

TINY = dict(model_type="llama", architectures=["LlamaForCausalLM"], hidden_act="silu", hidden_size=128,
            intermediate_size=352, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, vocab_size=260,
            max_position_embeddings=128, rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=False)

TINY_GPT2 = dict(model_type="gpt2", architectures=["GPT2LMHeadModel"], activation_function="gelu_new", n_embd=128,
                 n_layer=4, n_head=4, n_positions=128, n_ctx=128, vocab_size=260, layer_norm_epsilon=1e-5,
                 tie_word_embeddings=True)


def tiny_plan(check, name, ranks, flags, precision, steps, model=TINY):
    config = check.folder / f"tiny-{model['model_type']}.json"
    config.write_text(json.dumps(model))
    path = check.folder / f"{re.sub('[^a-z0-9]+', '-', name)}-{precision}.plan.json"
    status, _, said = check.verb("plan", "--model", config, "--cluster", "superpod-h100", "--ranks", ranks,
                                 "--sequence", 64, "--global-batch", 8, "--steps", steps, "--precision", precision,
                                 "--optimizer", "sgd", "--learning-rate", 0.05, "--output", path, *flags, timeout=30)
    if status != 0:
        raise Skipped(reason(said))
    # A cluster's planner also varies what the executor has one way of doing.
    plan = json.loads(path.read_text())
    plan["layout"]["recompute_every"] = 1
    path.write_text(json.dumps(plan))
    return path


def losses(check, plan, device, ranks, name):
    run = check.folder / f"{plan.name.removesuffix('.plan.json')}-{device}"
    shutil.rmtree(run, ignore_errors=True)
    share = []
    if device == "cuda" and ranks > len(check.gpus):
        share = ["--ranks-per-gpu", math.ceil(ranks / len(check.gpus))]
    status, done, said = check.verb("run", plan, "--data", training_text(check), "--output", run, "--device", device,
                                    "--threads", 1, "--no-model", *share, timeout=40)
    if status == 2:
        raise Skipped(reason(said))
    if status != 0 or done is None or done["failure"]:
        raise RuntimeError(f"{name} on {device}: exit {status}: {last_lines(said)}")
    return [line["loss"] for line in record_lines(run) if "step_time_s" in line]


def parity(check):
    """On GPUs against the CPU; without one, each layout against one rank."""
    steps, reference = 5, {}
    cases = [(*layout, "fp32", TINY) for layout in LAYOUTS]
    cases += [("1 rank", 1, ["--micro-batch", 2], "bf16", TINY), ("tp2", 2, ["--tp", 2], "bf16", TINY),
              ("1 rank", 1, ["--micro-batch", 2], "fp16", TINY),
              ("1 rank", 1, ["--micro-batch", 2], "fp8", TINY)]
    cases += [(*layout, "fp32", TINY_GPT2) for layout in GPT2_LAYOUTS]
    for name, ranks, flags, precision, model in cases:
        kind = (model["model_type"], precision)
        what = f"{name}, {precision}"
        try:
            if check.left() < 12:
                raise Skipped("no time left")
            plan = tiny_plan(check, name, ranks, flags, precision, steps, model)
            if kind not in reference:
                one = tiny_plan(check, f"reference {kind[0]}", 1, ["--micro-batch", 1], precision, steps, model)
                reference[kind] = losses(check, one, "cpu", 1, "one rank")
            got = losses(check, plan, "cuda" if check.gpus else "cpu", ranks, what)
        except Skipped as why:
            check.row(what, "skipped", str(why))
            continue
        except RuntimeError as why:
            check.row(what, "failed", str(why))
            continue
        worst = max(abs(a - b) for a, b in zip(got, reference[kind]))
        fits = len(got) == steps and worst <= PARITY[precision]
        where = "on the CPU" if not check.gpus else "GPU against CPU"
        shared = ", ranks share a GPU" if check.gpus and ranks > len(check.gpus) else ""
        check.row(what, "ok" if fits else "failed", f"losses within {worst:.1e} {where}{shared}")


def kill(check):
    plan = tiny_plan(check, "kill dp2", 2, ["--dp", 2, "--zero", 0], "fp32", 100000)
    device = "cuda" if check.gpus else "cpu"
    run = check.folder / "kill-run"
    shutil.rmtree(run, ignore_errors=True)
    share = ["--ranks-per-gpu", 2] if len(check.gpus) == 1 else []
    after = 8 if check.gpus else 2
    begin = time.monotonic()
    status, done, said = check.verb("run", plan, "--data", training_text(check), "--output", run, "--device", device,
                                    "--threads", 1, "--no-model", "--inject", f"kill@{after}s,1", *share, timeout=90)
    took = time.monotonic() - begin
    failure = (done or {}).get("failure")
    if status != 1 or not failure or "SIGKILL" not in failure["cause"]:
        raise RuntimeError(f"exit {status}, {failure}: {last_lines(said)}")
    survivors = "aborted" in said or "lost the connection" in said
    check.row("a rank is killed", "ok" if survivors else "failed",
              f"rank {failure['rank']} named ({failure['cause']}) after {took:.1f} s; the other rank "
              + ("aborted" if survivors else "said nothing"))
