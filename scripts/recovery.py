#!/usr/bin/env python3
"""Does a real run under real failures keep as much useful training as `trainyard reliability` says beforehand?

Two ranks train a small model. A short run with a few kills measures saves, loads and restarts; from its record the
goodput of the long run is predicted, with the interval that 90 % of simulated runs lie in. Then processes are killed
at exponential times until the number of kills is reached. Checked: the final weights are those of an undisturbed run,
bit for bit; the measured goodput lies inside the predicted interval; of several intervals between saves, measured each
with the same mean time between kills, the best lies within a factor of 1.5 of the model's.

  goodput   what the steps in the final model take undisturbed, over wall clock, over the same of an undisturbed run
            (which has time between its steps too); each by its own steps, as a shared machine's speed changes
  optimum   vertex of a parabola through measured goodput over the log of the interval: near its top the curve is flat

  scripts/recovery.py --trainyard build/release/cli/trainyard --data TEXT [--folder build/recovery]
                      [--mean 20] [--kills 50] [--sweep-mean 2] [--sweep-kills 60] [--json]

Exits 1 if a check fails. With the usual numbers about 25 minutes.
"""
import argparse
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys

SEQUENCE, BATCH = 64, 4
SWEEP = [0.25, 0.5, 1.0, 2.0, 4.0]  # of the model's best interval


class Check:
    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = pathlib.Path(arguments.folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def trainyard(self, *words):
        command = [self.arguments.trainyard, *map(str, words)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def plan(self, name, steps, every, *more):
        file = self.folder / f"{name}.json"
        profile = self.folder / "profile.json"
        if not profile.exists():
            self.trainyard("calibrate", "--ranks", 2, "--quick", "--output", profile)
        words = ["plan", "--model", "demo-llama", "--profile", profile, "--ranks", 2, "--sequence", SEQUENCE,
                 "--global-batch", BATCH, "--dp", 2, "--zero", 1, "--steps", max(1, round(steps)), "--restart-limit",
                 100000, "--output", file, *more]
        if every:
            words += ["--checkpoint-every", max(1, round(every))]
        self.trainyard(*words)
        return file

    def run(self, name, plan, mean=None, kills=None, seed=0):
        """Runs a plan and returns its record's lines by kind."""
        print(f"running {name}", file=sys.stderr, flush=True)
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        words = ["run", plan, "--data", self.arguments.data, "--output", folder, "--threads", 1]
        if mean:
            words += ["--inject", f"kill@{mean}s" + (f",{kills}" if kills else ""), "--inject-seed", seed]
        summary = json.loads(self.trainyard(*words, "--json"))["recovery"]
        record = {"summary": summary}
        for line in (folder / "record.jsonl").read_text().splitlines():
            entry = json.loads(line)
            record.setdefault(entry["record"], []).append(entry)
        return record

    def reliability(self, plan, record, mean, *more):
        record_file = self.folder / record / "record.jsonl"
        return json.loads(self.trainyard("reliability", "--plan", plan, "--record", record_file,
                                         "--mean-time-between-failures", f"{mean} s", "--json", *more))


def step_times(record):
    """Of the steps in the final model: the last time each was done."""
    return list({entry["step"]: entry["step_time_s"] for entry in record["step"]}.values())


def parabola_vertex(points):
    """Of (x, y): least squares; the best x where it opens upwards."""
    rows = [(1.0, x, x * x) for x, _ in points]
    m = [[sum(a[i] * a[j] for a in rows) for j in range(3)] + [sum(a[i] * y for a, (_, y) in zip(rows, points))]
         for i in range(3)]
    for i in range(3):
        pivot = max(range(i, 3), key=lambda r: abs(m[r][i]))
        m[i], m[pivot] = m[pivot], m[i]
        for r in range(3):
            if r != i:
                f = m[r][i] / m[i][i]
                m[r] = [a - f * b for a, b in zip(m[r], m[i])]
    b, c = m[1][3] / m[1][1], m[2][3] / m[2][2]
    return -b / (2 * c) if c < 0 else max(points, key=lambda p: p[1])[0]


def long_run(check, step):
    a = check.arguments
    calibration = check.plan("calibration", 120 / step, 1 / step)
    check.run("calibration", calibration, mean=12, kills=8, seed=1)
    best = check.reliability(calibration, "calibration", a.mean, "--runs", 0)["best_interval"]["storage_s"]
    steps = a.kills * a.mean / step
    plan = check.plan("long", steps, best / step)
    predicted = check.reliability(plan, "calibration", a.mean, "--interval", f"{best} s", "--runs", 4000,
                                  "--duration", f"{a.kills * a.mean} s")
    record = check.run("long", plan, mean=a.mean, seed=3)  # as long as so many kills take on average
    undisturbed = check.run("undisturbed", check.plan("undisturbed", steps, None))
    weights = [(check.folder / name / "model" / "model.safetensors").read_bytes() for name in ("long", "undisturbed")]
    spread = predicted["simulated"]["goodput"]
    return {"steps": round(steps), "kills": len(record.get("failure", [])), "interval_s": best,
            "equal": weights[0] == weights[1], "goodput": record["summary"]["goodput"] / undisturbed["summary"]["goodput"],
            "wall_s": record["end"][-1]["wall_s"], "predicted": spread["p50"], "low": spread["p5"], "high": spread["p95"]}


def sweep(check, step):
    """Training waits for each save: then it costs enough for the optimum to lie many steps apart, and to be seen."""
    a = check.arguments
    synchronous = "--synchronous-saves"
    calibration = check.plan("waiting", 20 / step, 1 / step, synchronous)
    check.run("waiting", calibration, mean=3, kills=4, seed=1)
    best = check.reliability(calibration, "waiting", a.sweep_mean, "--runs", 0)["best_interval"]["storage_s"]
    points = []
    for factor in SWEEP:
        every = max(1, round(factor * best / step))
        plan = check.plan("sweep", 0.7 * a.sweep_kills * a.sweep_mean / step, every, synchronous)
        record = check.run("sweep", plan, mean=a.sweep_mean, seed=5)
        points.append((every * step, record["summary"]["goodput"], len(record.get("failure", []))))
    vertex = math.exp(parabola_vertex([(math.log(interval), share) for interval, share, _ in points]))
    return {"model_s": best, "measured_s": vertex, "ratio": vertex / best,
            "points": [{"interval_s": i, "goodput": share, "kills": k} for i, share, k in points]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainyard", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--folder", default="build/recovery")
    parser.add_argument("--mean", type=float, default=20.0, help="seconds between kills")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--sweep-mean", type=float, default=2.0)
    parser.add_argument("--sweep-kills", type=int, default=60)
    parser.add_argument("--only", choices=["long", "sweep"])
    parser.add_argument("--json", action="store_true")
    check = Check(parser.parse_args())

    step = statistics.median(step_times(check.run("warm", check.plan("warm", 100, None))))
    result, checks = {"step_s": step}, {}
    if check.arguments.only != "sweep":
        long = result["long"] = long_run(check, step)
        checks["weights equal, bit for bit"] = long["equal"]
        checks["goodput inside the predicted 90 %"] = long["low"] <= long["goodput"] <= long["high"]
    if check.arguments.only != "long":
        swept = result["sweep"] = sweep(check, step)
        checks["measured optimum within a factor of 1.5"] = 1 / 1.5 <= swept["ratio"] <= 1.5
    result["checks"] = checks
    report(check.arguments, result)
    sys.exit(0 if all(checks.values()) else 1)


def report(arguments, result):
    if arguments.json:
        print(json.dumps(result, indent=1))
        return
    if "long" in result:
        long = result["long"]
        print(f"{long['kills']} kills, {arguments.mean:g} s apart on average, in {long['wall_s']:.0f} s: goodput "
              f"{100 * long['goodput']:.1f} %, predicted {100 * long['predicted']:.1f} % "
              f"(90 %: {100 * long['low']:.1f} to {100 * long['high']:.1f} %)")
    if "sweep" in result:
        swept = result["sweep"]
        for point in swept["points"]:
            print(f"  saves every {point['interval_s']:6.2f} s: {100 * point['goodput']:.1f} % ({point['kills']} kills)")
        print(f"best interval {swept['measured_s']:.2f} s measured, {swept['model_s']:.2f} s by the model")
    for name, held in result["checks"].items():
        print(f"{'ok  ' if held else 'FAIL'} {name}")


if __name__ == "__main__":
    main()
