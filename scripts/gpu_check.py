#!/usr/bin/env python3
"""Everything about this machine's GPUs in under five minutes: do they compute what the CPU does, how fast, do failures end.

Stages, each with a deadline of its own; one that fails or has no time doesn't stop the others:

  tests       contract tests of device and communicator (over a fake NCCL everywhere, on the GPU where there is one)
  kernels     registers, spills and shared memory of each kernel, from the compiler's report
  calibrate   the GPU's products, passes over memory, copies and collectives, as a share of its data sheet
  train       GPT-2 124M and a Llama of 1B in bf16: tokens/s, MFU, predicted against measured
  pytorch     the same models in compiled PyTorch, where torch is there
  parity      every kind of layout: losses on GPUs against those on the CPU, step by step
  kill        a rank is killed: the others must abort and the run name it
  sanitizer   compute-sanitizer over the device's tests

With fewer GPUs than ranks, ranks share one through sockets: their speed then means nothing.
Without a GPU: what runs without one, the parity of layouts on the CPU and the kernels' report; then exit 3.

  scripts/gpu_check.py --build build/gpu [--folder build/gpu-check] [--seconds 280] [--only STAGE,...]

Prints one table last and writes FOLDER/gpu-check.json. Exits 0, 1 if something is wrong, 3 without a GPU.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NO_GPU = 3

MODELS = {  # in models/llm: tokens per sequence, sequences a step, steps
    "gpt2": dict(label="GPT-2 124M", sequence=1024, batch=32, steps=12, deadline=50),
    "llama-3.2-1b": dict(label="Llama 1B", sequence=2048, batch=16, steps=10, deadline=70),
}

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


class Skipped(Exception):
    """A stage that can't run here, and why."""


def text_of(command, timeout, **more):
    """Runs a command; (exit status or None where it ran out of time, what it printed)."""
    command = [str(word) for word in command]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              errors="replace", timeout=max(1, timeout), **more)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        out = late.stdout or b""
        return None, out if isinstance(out, str) else out.decode(errors="replace")
    except OSError as failure:
        return 127, str(failure)


def last_lines(text, count=4):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return " / ".join(lines[-count:])[:600]


def reason(said):
    """What trainyard says is wrong, without its name and its hint."""
    lines = [line for line in said.splitlines() if line.startswith("trainyard: ")]
    return lines[-1].removeprefix("trainyard: ")[:200] if lines else last_lines(said, 2)


class Check:
    def __init__(self, arguments):
        self.begin = time.monotonic()
        self.arguments = arguments
        self.build = pathlib.Path(arguments.build).resolve()
        self.folder = pathlib.Path(arguments.folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.trainyard = self.build / "cli" / "trainyard"
        if (self.build / "lib").is_dir():  # a kit's own libraries
            os.environ["LD_LIBRARY_PATH"] = f"{self.build / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        self.rows = []  # [what, outcome, detail]
        self.report = {"document": "gpu_check", "schema": 1, "stages": {}}
        self.doctor = {}
        self.gpus = []
        self.accelerator = None
        self.profile = None

    # ---- Running things ----

    def left(self):
        return self.arguments.seconds - (time.monotonic() - self.begin)

    def verb(self, *words, timeout=60, environment=None):
        """A verb of trainyard with --json, in this environment and that: (exit status, object or None, what it said)."""
        command = [self.trainyard, *words, "--json"]
        try:
            done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, check=False, cwd=ROOT, timeout=max(1, min(timeout, self.left())),
                                  env={**os.environ, **(environment or {})})
        except subprocess.TimeoutExpired:
            return None, None, f"not done after {timeout:.0f} s"
        except OSError as failure:
            return 127, None, str(failure)
        try:
            return done.returncode, json.loads(done.stdout), done.stderr
        except json.JSONDecodeError:
            return done.returncode, None, done.stderr

    def row(self, what, outcome, detail=""):
        self.rows.append([what, outcome, detail])
        print(f"  {what:<34} {outcome:<8} {detail}", flush=True)

    def stage(self, name, function, needs_gpu):
        wanted = self.arguments.only
        if wanted and name not in wanted.split(","):
            return
        print(f"\n==> {name}", flush=True)
        begin = time.monotonic()
        before = len(self.rows)
        if needs_gpu and not self.gpus:
            self.row(name, "skipped", "no GPU")
        elif self.left() < 5:
            self.row(name, "skipped", "no time left")
        else:
            try:
                function()
            except Skipped as why:
                self.row(name, "skipped", str(why))
            except Exception as failure:  # the others still run, and the table says so
                self.row(name, "failed", f"{type(failure).__name__}: {failure}")
        self.report["stages"][name] = {
            "seconds": round(time.monotonic() - begin, 2),
            "rows": [dict(zip(("what", "outcome", "detail"), row)) for row in self.rows[before:]]}

    # ---- Stages ----

    def machine(self):
        status, self.doctor, said = self.verb("doctor", timeout=60)
        if self.doctor is None:
            raise RuntimeError(f"{self.trainyard} doctor: exit {status}: {last_lines(said)}")
        gpu = self.doctor["gpu"]
        self.gpus = gpu["usable"]
        self.report["machine"] = self.doctor
        for one in self.gpus:
            self.row("GPU", "found", f"{one['name']}, {one['memory_bytes'] / 2**30:.0f} GiB")
        if not self.gpus:
            self.row("GPU", "none", gpu["cuda_problem"])
        self.row("NCCL", "found" if gpu["nccl_version"] else "none", gpu["nccl_problem"] or gpu["nccl_library"])
        why = gpu["cudnn_problem"]
        self.row("cuDNN's attention", "none" if why else "found", f"our own kernels: {why}" if why else gpu["cudnn"])
        self.accelerator = self.find_accelerator()

    def find_accelerator(self):
        """The data sheet in models/accelerators whose name the GPU's contains."""
        if not self.gpus:
            return None
        name = re.sub(r"[^a-z0-9]+", "-", self.gpus[0]["name"].lower())
        best = None
        for path in sorted((ROOT / "models" / "accelerators").glob("*.json")):
            stem = path.stem.replace("-sxm", "").replace("-pcie", "")
            if stem.split("-")[0] in name and (best is None or len(path.stem) > len(best.stem)):
                best = path
            if path.stem in name:
                best = path
                break
        return json.loads(best.read_text()) if best else None

    def peak(self, kind):
        """Of the data sheet, in SI units; None where it isn't known."""
        if self.accelerator is None:
            return None
        named = {"memory": "memory_bandwidth", "host": "host_link_bandwidth"}
        entry = self.accelerator.get(named[kind]) if kind in named else self.accelerator["dense_peak"].get(kind)
        if entry is None:
            return None
        number, unit = entry["value"].split()
        return float(number) * {"T": 1e12, "G": 1e9, "M": 1e6}[unit[0]]

    def gtest(self, what, program, tests, timeout, environment=None):
        """A GoogleTest program's tests by filter, as one row; True unless some failed."""
        path = self.build / program
        if not path.exists():
            self.row(what, "skipped", f"{program} isn't built")
            return True
        status, out = text_of([path, f"--gtest_filter={tests}"], min(timeout, self.left()), env=environment, cwd=ROOT)
        ran = re.search(r"(\d+) tests? from \d+ test suites? ran", out)
        passed = re.search(r"PASSED  \] (\d+)", out)
        skipped = re.search(r"SKIPPED \] (\d+)", out)
        counts = f"{passed.group(1) if passed else 0} passed"
        counts += f", {skipped.group(1)} skipped" if skipped else ""
        if status == 0 and ran and ran.group(1) != "0":
            all_skipped = skipped and passed and passed.group(1) == "0"
            self.row(what, "skipped" if all_skipped else "ok", counts)
            return True
        if status == 0:
            self.row(what, "skipped", "no such test in this build")
            return True
        failed = re.findall(r"^\[  FAILED  \] ([\w/.]+)", out, re.M)
        why = f"not done in {timeout} s: it hangs, or the machine is busy" if status is None else ", ".join(sorted(set(failed))[:4]) or last_lines(out)
        self.row(what, "failed", f"{counts}; {why}")
        return False

    def tests(self):
        self.gtest("communicators, over a fake NCCL", "tests/executor/test_executor",
                   "*CommunicatorWith*:*EachCommunicator*:Nccl*:FlightRecorder*", 60)
        self.gtest("whole steps, over a fake NCCL", "tests/executor/worker/test_parity",
                   "*OverNccl*mbs2*bucket_1B:SeededBug*", 60)
        self.gtest("device: kernels, on the CPU", "tests/executor/test_executor",
                   "*-*Communicator*:*Cuda*:*cuda*:*Launch*:*Supervisor*:*Nccl*:*Members*:Store*", 90)
        if not self.gpus:
            self.row("kernels and steps, on the GPU", "skipped", "no GPU")
            return
        # cuDNN compiles for each shape.
        self.gtest("device: kernels, on the GPU", "tests/executor/test_executor", "*Cuda*:*cuda*", 120)
        self.gtest("whole steps, on the GPU", "tests/executor/worker/test_parity", "CudaKernels*", 60)

    def begin_kernels(self):
        """The compiler takes a minute or two: beside the other stages, on a core of its own."""
        script = ROOT / "scripts" / "kernel_report.py"
        self.compiling = None
        if self.arguments.only and "kernels" not in self.arguments.only.split(","):
            return
        if (shutil.which("nvcc") or pathlib.Path("/usr/local/cuda/bin/nvcc").exists()) and (ROOT / "executor/device/cuda"
                                                                                           / "kernels_row.cu").exists():
            self.compiling = subprocess.Popen(
                [sys.executable, script, "--jobs", "1", "--json", self.folder / "kernels.json"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, start_new_session=True)

    def kernels(self):
        if self.compiling is None:
            committed = ROOT / "docs" / "kernels.md"
            if not committed.exists():
                raise Skipped("no nvcc here")
            print(committed.read_text(), flush=True)
            raise Skipped("no nvcc here: the table above is the repository's")
        try:
            out, _ = self.compiling.communicate(timeout=max(5, self.left()))
        except subprocess.TimeoutExpired:
            os.killpg(self.compiling.pid, signal.SIGKILL)
            self.compiling.communicate()
            raise Skipped("the compiler was not done in time: scripts/kernel_report.py prints it") from None
        print(out, flush=True)
        (self.folder / "kernels.txt").write_text(out)
        failed = self.compiling.returncode != 0
        self.row("kernels: registers and spills", "failed" if failed else "ok",
                 last_lines(out, 1) if failed else "no hot kernel spills; the table is above and in kernels.txt")

    def calibrate(self):
        path = self.folder / "profile.json"
        ranks = max(1, len(self.gpus))
        status, answer, said = self.verb("calibrate", "--device", "cuda", "--ranks", ranks, "--quick", "--output", path,
                                         timeout=130)  # a second of it for each shape that cuDNN compiles attention for
        if status != 0:
            raise RuntimeError(f"exit {status}: {last_lines(said)}")
        self.profile = path
        measured = json.loads(path.read_text())["concurrencies"][0]
        self.report["calibration"] = answer
        self.row("launch of a kernel", "ok", f"{measured['instruction_overhead_s'] * 1e6:.1f} us")
        self.report["roofline"] = []
        for kind in sorted({sample["type"] for sample in measured["gemms"]}):
            rates = [(2 * s["batch"] * s["m"] * s["n"] * s["k"] / s["time_s"], s) for s in measured["gemms"]
                     if s["type"] == kind]
            self.roofline(f"products, {kind}", max(rates, key=lambda r: r[0]), self.peak(kind), "TFLOP/s", 1e12,
                          lambda s: f"{s['m']} x {s['n']} x {s['k']}")
        for kind, way in sorted({(sample["type"], sample["pass"]) for sample in measured["attentions"]}):
            rates = [(attention_flops(s) / s["time_s"], s) for s in measured["attentions"]
                     if (s["type"], s["pass"]) == (kind, way)]
            self.roofline(f"attention {way}, {kind}", max(rates, key=lambda r: r[0]), self.peak(kind), "TFLOP/s", 1e12,
                          lambda s: f"{s['sequences']} x {s['queries']}, {s['query_heads']} heads of {s['head_size']}")
        for kernel in sorted({sample["kernel"] for sample in measured["elementwise"]}):
            rates = [(s["bytes"] / s["time_s"], s) for s in measured["elementwise"] if s["kernel"] == kernel]
            self.roofline(kernel, max(rates, key=lambda r: r[0]), self.peak("memory"), "TB/s", 1e12,
                          lambda s: f"{s['bytes'] / 2**20:.0f} MiB")
        for direction in ("to_device", "to_host"):
            rates = [(s["bytes"] / s["time_s"], s) for s in measured["host_copies"] if s["direction"] == direction]
            self.roofline(f"copies {direction.replace('_', ' ')}, pinned", max(rates, key=lambda r: r[0]),
                          self.peak("host"), "GB/s", 1e9, lambda s: f"{s['bytes'] / 2**20:.0f} MiB")
        for kind in sorted({sample["kind"] for sample in measured.get("collectives", [])}):
            best = max((s["payload_bytes"] / s["time_s"], s) for s in measured["collectives"] if s["kind"] == kind)
            self.row(f"{kind}, {best[1]['group_size']} ranks", "ok", f"{best[0] / 1e9:.1f} GB/s algbw")

    def roofline(self, what, best, peak, unit, scale, shape):
        rate, sample = best
        share = f", {100 * rate / peak:.0f} % of the data sheet" if peak else ""
        self.report["roofline"].append({"kernel": what, "rate": rate, "peak": peak})
        self.row(what, "ok", f"{rate / scale:.2f} {unit}{share} ({shape(sample)})")

    def train(self):
        text = self.training_text()
        for name, model in MODELS.items():
            try:
                self.train_model(name, model, text)
            except Skipped as why:
                self.row(model["label"], "skipped", str(why))

    def train_model(self, name, model, text):
        ranks = max(1, len(self.gpus))
        plan, run = self.folder / f"{name}.plan.json", self.folder / f"{name}-run"
        machine = ["--profile", self.profile] if self.profile else ["--cluster", "superpod-h100"]
        flags = ["plan", "--model", name, *machine, "--ranks", ranks, "--sequence", model["sequence"], "--global-batch",
                 model["batch"] * ranks, "--steps", model["steps"], "--precision", "bf16", "--output", plan]
        status, planned, said = self.verb(*flags, timeout=30)
        if status != 0:
            raise Skipped(reason(said))
        status, done, said = self.verb("run", plan, "--data", text, "--output", run, "--device", "cuda", "--no-model",
                                       "--force", timeout=model["deadline"])
        if status != 0 or done is None or done["failure"]:
            raise RuntimeError(f"{name}: exit {status}: {last_lines(said)}")
        # Forward and backward of every weight, and causal attention, as the program counts them.
        steps = [json.loads(line) for line in (run / "record.jsonl").read_text().splitlines()]
        times = [line["step_time_s"] for line in steps if "step_time_s" in line][2:]
        tokens = model["sequence"] * model["batch"] * ranks
        measured = statistics.median(times)
        result = {"tokens_per_s": tokens / measured, "step_s": measured, "ranks": ranks,
                  "first_loss": done["first_loss"], "last_loss": done["last_loss"]}
        peak = self.peak("bf16")
        flops = model_flops_per_token(name, model["sequence"])
        if peak:
            result["mfu"] = flops * result["tokens_per_s"] / (peak * ranks)
        predicted = find_number(planned, ("best", "step_s"), ("plans", 0, "step_s"), ("layouts", 0, "step_s"))
        if predicted:
            result["predicted_step_s"] = predicted
        self.report.setdefault("training", {})[name] = result
        detail = f"{result['tokens_per_s']:.0f} tokens/s"
        detail += f", MFU {100 * result['mfu']:.1f} %" if "mfu" in result else ""
        detail += f", step {1e3 * measured:.1f} ms"
        detail += f" (predicted {1e3 * predicted:.1f} ms)" if predicted else ""
        detail += f", loss {done['first_loss']:.2f} to {done['last_loss']:.2f}"
        learns = math.isfinite(done["last_loss"]) and done["last_loss"] < done["first_loss"]
        self.row(model["label"], "ok" if learns else "failed", detail)
        if name == "gpt2" and ranks == 1 and self.left() > 60:
            self.train_graphs(plan, text, steps, measured)
        if not self.doctor["gpu"]["cudnn_problem"] and self.left() > 120:
            self.train_own_attention(model, plan, text, result)

    def train_own_attention(self, model, plan, text, with_cudnn):
        """The same steps by our own attention instead of cuDNN's: how fast, and that they learn the same."""
        run = self.folder / "own-attention-run"
        status, done, said = self.verb("run", plan, "--data", text, "--output", run, "--device", "cuda", "--no-model",
                                       "--force", timeout=model["deadline"], environment={"TRAINYARD_ATTENTION": "own"})
        if status != 0 or done is None or done["failure"]:
            raise RuntimeError(f"with our own attention: exit {status}: {last_lines(said)}")
        steps = [json.loads(line) for line in (run / "record.jsonl").read_text().splitlines()]
        own = statistics.median([line["step_time_s"] for line in steps if "step_time_s" in line][2:])
        with_cudnn["own_attention_step_s"] = own
        apart = abs(done["last_loss"] - with_cudnn["last_loss"])
        self.row(f"{model['label']}, own attention", "ok" if apart <= PARITY["bf16"] else "failed",
                 f"step {1e3 * own:.1f} ms, {1e3 * with_cudnn['step_s']:.1f} with cuDNN's; last losses {apart:.1e} apart")

    def train_graphs(self, plan, text, plain_record, plain):
        """The same steps with their repeated part as a CUDA graph: the same losses to the last bit."""
        run = self.folder / "graphs-run"
        status, done, said = self.verb("run", plan, "--data", text, "--output", run, "--device", "cuda", "--no-model",
                                       "--force", "--graphs", timeout=40)
        if status != 0 or done is None or done["failure"]:
            raise RuntimeError(f"with --graphs: exit {status}: {last_lines(said)}")
        steps = [json.loads(line) for line in (run / "record.jsonl").read_text().splitlines()]
        times = [line["step_time_s"] for line in steps if "step_time_s" in line][2:-3]  # the last three are traced
        measured = statistics.median(times)
        replayed = sum(line["replayed_steps"] for line in steps if line["record"] == "counts")
        if replayed == 0:  # the runs were the same one twice
            why = [line for line in said.splitlines() if "--graphs:" in line]
            self.row("GPT-2 124M, CUDA graph", "failed", why[-1][:200] if why else "no step was replayed")
            return
        ours, theirs = ([line["loss"] for line in record if line["record"] == "step"]
                        for record in (steps, plain_record))
        different = [step for step, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]]
        same = len(ours) == len(theirs) and not different
        self.row("GPT-2 124M, CUDA graph", "ok" if same else "failed",
                 f"step {1e3 * measured:.1f} ms instead of {1e3 * plain:.1f}, {replayed} of {len(ours)} replayed, losses "
                 + ("equal to the last bit" if same else f"differ in steps {different[:4]} of {len(theirs)}"))

    def pytorch(self):
        script = ROOT / "scripts" / "gpu_check_torch.py"
        status, out = text_of([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"], 60)
        if status != 0 or "True" not in out:
            raise Skipped("no torch that sees a GPU")
        for name, model in MODELS.items():
            status, out = text_of([sys.executable, script, ROOT / "models" / "llm" / f"{name}.json", model["sequence"],
                                   model["batch"]], min(90, self.left()))
            if status != 0:
                self.row(f"{model['label']} in PyTorch", "skipped", last_lines(out, 2))
                continue
            theirs = json.loads(out.strip().splitlines()[-1])
            self.report.setdefault("pytorch", {})[name] = theirs
            ours = self.report.get("training", {}).get(name)
            detail = f"{theirs['tokens_per_s']:.0f} tokens/s"
            if ours:
                detail += f"; ours are {ours['tokens_per_s'] / ours['ranks'] / theirs['tokens_per_s']:.2f} of it"
            self.row(f"{model['label']} in PyTorch", "ok", detail)

    def training_text(self):
        """Text that lies here anyway: this repository's."""
        path = self.folder / "text.txt"
        if not path.exists():
            parts = [file.read_text(errors="ignore") for pattern in ("docs/*.md", "core/*/*.h", "executor/*/*.h",
                                                                     "core/*/*.cpp", "simulator/*/*.cpp")
                     for file in sorted(ROOT.glob(pattern))]
            path.write_text("\n".join(parts))
        return path

    def tiny_plan(self, name, ranks, flags, precision, steps, model=TINY):
        config = self.folder / f"tiny-{model['model_type']}.json"
        config.write_text(json.dumps(model))
        path = self.folder / f"{re.sub('[^a-z0-9]+', '-', name)}-{precision}.plan.json"
        status, _, said = self.verb("plan", "--model", config, "--cluster", "superpod-h100", "--ranks", ranks,
                                    "--sequence", 64, "--global-batch", 8, "--steps", steps, "--precision", precision,
                                    "--optimizer", "sgd", "--learning-rate", 0.05, "--output", path, *flags, timeout=30)
        if status != 0:
            raise Skipped(reason(said))
        # A cluster's planner also varies what the executor has one way of doing.
        plan = json.loads(path.read_text())
        plan["layout"]["recompute_every"] = 1
        path.write_text(json.dumps(plan))
        return path

    def losses(self, plan, device, ranks, name):
        run = self.folder / f"{plan.name.removesuffix('.plan.json')}-{device}"
        shutil.rmtree(run, ignore_errors=True)
        share = []
        if device == "cuda" and ranks > len(self.gpus):
            share = ["--ranks-per-gpu", math.ceil(ranks / len(self.gpus))]
        status, done, said = self.verb("run", plan, "--data", self.training_text(), "--output", run, "--device", device,
                                       "--threads", 1, "--no-model", *share, timeout=40)
        if status == 2:
            raise Skipped(reason(said))
        if status != 0 or done is None or done["failure"]:
            raise RuntimeError(f"{name} on {device}: exit {status}: {last_lines(said)}")
        lines = [json.loads(line) for line in (run / "record.jsonl").read_text().splitlines()]
        return [line["loss"] for line in lines if "step_time_s" in line]

    def parity(self):
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
                if self.left() < 12:
                    raise Skipped("no time left")
                plan = self.tiny_plan(name, ranks, flags, precision, steps, model)
                if kind not in reference:
                    one = self.tiny_plan(f"reference {kind[0]}", 1, ["--micro-batch", 1], precision, steps, model)
                    reference[kind] = self.losses(one, "cpu", 1, "one rank")
                got = self.losses(plan, "cuda" if self.gpus else "cpu", ranks, what)
            except Skipped as why:
                self.row(what, "skipped", str(why))
                continue
            except RuntimeError as why:
                self.row(what, "failed", str(why))
                continue
            worst = max(abs(a - b) for a, b in zip(got, reference[kind]))
            fits = len(got) == steps and worst <= PARITY[precision]
            where = "on the CPU" if not self.gpus else "GPU against CPU"
            shared = ", ranks share a GPU" if self.gpus and ranks > len(self.gpus) else ""
            self.row(what, "ok" if fits else "failed", f"losses within {worst:.1e} {where}{shared}")

    def kill(self):
        plan = self.tiny_plan("kill dp2", 2, ["--dp", 2, "--zero", 0], "fp32", 100000)
        device = "cuda" if self.gpus else "cpu"
        run = self.folder / "kill-run"
        shutil.rmtree(run, ignore_errors=True)
        share = ["--ranks-per-gpu", 2] if len(self.gpus) == 1 else []
        after = 8 if self.gpus else 2
        begin = time.monotonic()
        status, done, said = self.verb("run", plan, "--data", self.training_text(), "--output", run, "--device", device,
                                       "--threads", 1, "--no-model", "--inject", f"kill@{after}s,1", *share, timeout=90)
        took = time.monotonic() - begin
        failure = (done or {}).get("failure")
        if status != 1 or not failure or "SIGKILL" not in failure["cause"]:
            raise RuntimeError(f"exit {status}, {failure}: {last_lines(said)}")
        survivors = "aborted" in said or "lost the connection" in said
        self.row("a rank is killed", "ok" if survivors else "failed",
                 f"rank {failure['rank']} named ({failure['cause']}) after {took:.1f} s; the other rank "
                 + ("aborted" if survivors else "said nothing"))

    def sanitizer(self):
        tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
        if tool is None:
            raise Skipped("compute-sanitizer isn't installed")
        program = self.build / "tests" / "executor" / "test_executor"
        # Of our own kernels: cuDNN's would take most of the time.
        status, out = text_of([tool, "--error-exitcode", 9, program, "--gtest_filter=*Cuda*:*cuda*-*CudaFused*"],
                              min(90, self.left()), cwd=ROOT, env={**os.environ, "TRAINYARD_ATTENTION": "own"})
        if status is not None and "Device not supported" in out:
            raise Skipped("compute-sanitizer doesn't take this device")
        errors = re.search(r"ERROR SUMMARY: (\d+) error", out)
        if status is None:
            self.row("compute-sanitizer", "skipped", "not done in its time")
        else:
            self.row("compute-sanitizer", "ok" if status == 0 else "failed",
                     f"{errors.group(1)} errors" if errors else last_lines(out, 2))

    # ---- The end ----

    def finish(self):
        bad = [row for row in self.rows if row[1] == "failed"]
        self.report["seconds"] = round(time.monotonic() - self.begin, 1)
        self.report["gpus"] = len(self.gpus)
        self.report["failed"] = len(bad)
        out = self.folder / "gpu-check.json"
        out.write_text(json.dumps(self.report, indent=1) + "\n")
        print(f"\n==> summary, {self.report['seconds']:.0f} s")
        for what, outcome, detail in self.rows:
            print(f"  {what:<34} {outcome:<8} {detail}")
        print(f"\n{sum(row[1] in ('ok', 'found') for row in self.rows)} ok, {len(bad)} failed, "
              f"{sum(row[1] == 'skipped' for row in self.rows)} skipped; {out}")
        if not self.gpus:
            print("no GPU: nothing above ran on one. Why: " + self.doctor.get("gpu", {}).get("cuda_problem", "unknown"))
        return 1 if bad else 0 if self.gpus else NO_GPU


def attention_flops(sample):
    """Of a causal pass, for the keys that each query sees: 2 products forward, 5 backward, whoever's kernels do more."""
    pairs = sample["sequences"] * sample["query_heads"] * sample["queries"] * (sample["queries"] + 1) / 2
    return (4 if sample["pass"] == "forward" else 10) * sample["head_size"] * pairs


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/gpu")
    parser.add_argument("--folder", default="build/gpu-check")
    parser.add_argument("--seconds", type=float, default=280)
    parser.add_argument("--only", default="", help="stages, separated by commas")
    check = Check(parser.parse_args())
    try:
        check.machine()
    except RuntimeError as failure:
        print(f"gpu_check: {failure}", file=sys.stderr)
        return 1
    check.begin_kernels()
    # What says most first: time may run out.
    for name, function, needs_gpu in [("tests", check.tests, False), ("calibrate", check.calibrate, True),
                                      ("train", check.train, True), ("parity", check.parity, False),
                                      ("kill", check.kill, False), ("pytorch", check.pytorch, True),
                                      ("sanitizer", check.sanitizer, True), ("kernels", check.kernels, False)]:
        check.stage(name, function, needs_gpu)
    return check.finish()


if __name__ == "__main__":
    sys.exit(main())
