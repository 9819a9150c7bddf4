"""Models in bf16: tokens/s, MFU, predicted and measured, and beside our own attention, a CUDA graph and PyTorch."""
import json
import math
import statistics
import sys

from .machine import data_sheet
from .parity import PARITY
from .running import ROOT, Skipped, last_lines, reason, record_lines, text_of, training_text

MODELS = {  # in models/llm: tokens per sequence, sequences a step, steps
    "gpt2": dict(label="GPT-2 124M", sequence=1024, batch=32, steps=12, deadline=50),
    "llama-3.2-1b": dict(label="Llama 1B", sequence=2048, batch=16, steps=10, deadline=70),
}


def train(check):
    text = training_text(check)
    for name, model in MODELS.items():
        try:
            train_model(check, name, model, text)
        except Skipped as why:
            check.row(model["label"], "skipped", str(why))


def train_model(check, name, model, text):
    ranks = max(1, len(check.gpus))
    plan, run = check.folder / f"{name}.plan.json", check.folder / f"{name}-run"
    machine = ["--profile", check.profile] if check.profile else ["--cluster", "superpod-h100"]
    flags = ["plan", "--model", name, *machine, "--ranks", ranks, "--sequence", model["sequence"], "--global-batch",
             model["batch"] * ranks, "--steps", model["steps"], "--precision", "bf16", "--output", plan]
    status, planned, said = check.verb(*flags, timeout=30)
    if status != 0:
        raise Skipped(reason(said))
    status, done, said = check.verb("run", plan, "--data", text, "--output", run, "--device", "cuda", "--no-model",
                                    "--force", timeout=model["deadline"])
    if status != 0 or done is None or done["failure"]:
        raise RuntimeError(f"{name}: exit {status}: {last_lines(said)}")
    # Forward and backward of every weight, and causal attention, as the program counts them.
    steps = record_lines(run)
    times = [line["step_time_s"] for line in steps if "step_time_s" in line][2:]
    tokens = model["sequence"] * model["batch"] * ranks
    measured = statistics.median(times)
    result = {"tokens_per_s": tokens / measured, "step_s": measured, "ranks": ranks,
              "first_loss": done["first_loss"], "last_loss": done["last_loss"]}
    peak = data_sheet(check, "bf16")
    flops = model_flops_per_token(name, model["sequence"])
    if peak:
        result["mfu"] = flops * result["tokens_per_s"] / (peak * ranks)
    predicted = find_number(planned, ("best", "step_s"), ("plans", 0, "step_s"), ("layouts", 0, "step_s"))
    if predicted:
        result["predicted_step_s"] = predicted
    check.report.setdefault("training", {})[name] = result
    detail = f"{result['tokens_per_s']:.0f} tokens/s"
    detail += f", MFU {100 * result['mfu']:.1f} %" if "mfu" in result else ""
    detail += f", step {1e3 * measured:.1f} ms"
    detail += f" (predicted {1e3 * predicted:.1f} ms)" if predicted else ""
    detail += f", loss {done['first_loss']:.2f} to {done['last_loss']:.2f}"
    learns = math.isfinite(done["last_loss"]) and done["last_loss"] < done["first_loss"]
    check.row(model["label"], "ok" if learns else "failed", detail)
    if name == "gpt2" and ranks == 1 and check.left() > 60:
        train_graphs(check, plan, text, steps, measured)
    if not check.doctor["gpu"]["cudnn_problem"] and check.left() > 120:
        train_own_attention(check, model, plan, text, result)


def train_own_attention(check, model, plan, text, with_cudnn):
    """The same steps by our own attention instead of cuDNN's: how fast, and that they learn the same."""
    run = check.folder / "own-attention-run"
    status, done, said = check.verb("run", plan, "--data", text, "--output", run, "--device", "cuda", "--no-model",
                                    "--force", timeout=model["deadline"], environment={"TRAINYARD_ATTENTION": "own"})
    if status != 0 or done is None or done["failure"]:
        raise RuntimeError(f"with our own attention: exit {status}: {last_lines(said)}")
    steps = record_lines(run)
    own = statistics.median([line["step_time_s"] for line in steps if "step_time_s" in line][2:])
    with_cudnn["own_attention_step_s"] = own
    apart = abs(done["last_loss"] - with_cudnn["last_loss"])
    check.row(f"{model['label']}, own attention", "ok" if apart <= PARITY["bf16"] else "failed",
              f"step {1e3 * own:.1f} ms, {1e3 * with_cudnn['step_s']:.1f} with cuDNN's; last losses {apart:.1e} apart")


def train_graphs(check, plan, text, plain_record, plain):
    """The same steps with their repeated part as a CUDA graph: the same losses to the last bit."""
    run = check.folder / "graphs-run"
    status, done, said = check.verb("run", plan, "--data", text, "--output", run, "--device", "cuda", "--no-model",
                                    "--force", "--graphs", timeout=40)
    if status != 0 or done is None or done["failure"]:
        raise RuntimeError(f"with --graphs: exit {status}: {last_lines(said)}")
    steps = record_lines(run)
    times = [line["step_time_s"] for line in steps if "step_time_s" in line][2:-3]  # the last three are traced
    measured = statistics.median(times)
    replayed = sum(line["replayed_steps"] for line in steps if line["record"] == "counts")
    if replayed == 0:  # the runs were the same one twice
        why = [line for line in said.splitlines() if "--graphs:" in line]
        check.row("GPT-2 124M, CUDA graph", "failed", why[-1][:200] if why else "no step was replayed")
        return
    ours, theirs = ([line["loss"] for line in record if line["record"] == "step"]
                    for record in (steps, plain_record))
    different = [step for step, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]]
    same = len(ours) == len(theirs) and not different
    check.row("GPT-2 124M, CUDA graph", "ok" if same else "failed",
              f"step {1e3 * measured:.1f} ms instead of {1e3 * plain:.1f}, {replayed} of {len(ours)} replayed, losses "
              + ("equal to the last bit" if same else f"differ in steps {different[:4]} of {len(theirs)}"))


def pytorch(check):
    script = ROOT / "scripts" / "gpu_check_torch.py"
    status, out = text_of([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"], 60)
    if status != 0 or "True" not in out:
        raise Skipped("no torch that sees a GPU")
    for name, model in MODELS.items():
        status, out = text_of([sys.executable, script, ROOT / "models" / "llm" / f"{name}.json", model["sequence"],
                               model["batch"]], min(90, check.left()))
        if status != 0:
            check.row(f"{model['label']} in PyTorch", "skipped", last_lines(out, 2))
            continue
        theirs = json.loads(out.strip().splitlines()[-1])
        check.report.setdefault("pytorch", {})[name] = theirs
        ours = check.report.get("training", {}).get(name)
        detail = f"{theirs['tokens_per_s']:.0f} tokens/s"
        if ours:
            detail += f"; ours are {ours['tokens_per_s'] / ours['ranks'] / theirs['tokens_per_s']:.2f} of it"
        check.row(f"{model['label']} in PyTorch", "ok", detail)


def find_number(document, *paths):
    """The first of the paths that leads to a number."""
    for path in paths:
        at = document
        try:
            for step in path:
                at = at[step]
        except (KeyError, IndexError, TypeError):
            continue
        if isinstance(at, (int, float)):
            return at
    return None


def model_flops_per_token(name, sequence):
    """6 per weight of a product, and causal attention: 6 x layers x hidden x sequence (PaLM, appendix B, halved)."""
    config = json.loads((ROOT / "models" / "llm" / f"{name}.json").read_text())
    if config["model_type"] == "gpt2":
        layers, hidden, vocabulary = config["n_layer"], config["n_embd"], config["vocab_size"]
        weights = layers * 12 * hidden * hidden + vocabulary * hidden
        width = hidden
    else:
        layers, hidden, vocabulary = config["num_hidden_layers"], config["hidden_size"], config["vocab_size"]
        heads = config["num_attention_heads"]
        size = config.get("head_dim") or hidden // heads
        kv = config.get("num_key_value_heads", heads)
        weights = layers * (hidden * size * (heads + 2 * kv) + heads * size * hidden
                            + 3 * hidden * config["intermediate_size"]) + vocabulary * hidden
        width = heads * size
    return 6 * weights + 6 * layers * width * sequence
