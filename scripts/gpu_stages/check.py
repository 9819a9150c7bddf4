"""A check: what it has found out of the machine, its rows of outcomes, its report, and the time that is left."""
import json
import os
import pathlib
import subprocess
import time

from .running import ROOT, Skipped

NO_GPU = 3


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
        self.compiling = None  # the kernels' report, under way

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

    def wants(self, name):
        return not self.arguments.only or name in self.arguments.only.split(",")

    def stage(self, name, function, needs_gpu):
        """Runs function(check) and keeps its rows; raising Skipped or anything else makes one more of them."""
        if not self.wants(name):
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
                function(self)
            except Skipped as why:
                self.row(name, "skipped", str(why))
            except Exception as failure:  # the others still run, and the table says so
                self.row(name, "failed", f"{type(failure).__name__}: {failure}")
        self.report["stages"][name] = {
            "seconds": round(time.monotonic() - begin, 2),
            "rows": [dict(zip(("what", "outcome", "detail"), row)) for row in self.rows[before:]]}

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
