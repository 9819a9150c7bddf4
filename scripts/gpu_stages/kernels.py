"""Registers, spills and shared memory of each kernel, from the compiler's report."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from .running import ROOT, Skipped, last_lines


def begin_kernels(check):
    """The compiler takes a minute or two: beside the other stages, on a core of its own."""
    script = ROOT / "scripts" / "kernel_report.py"
    has_compiler = shutil.which("nvcc") or pathlib.Path("/usr/local/cuda/bin/nvcc").exists()
    if check.wants("kernels") and has_compiler and (ROOT / "executor/device/cuda/kernels_row.cu").exists():
        check.compiling = subprocess.Popen(
            [sys.executable, script, "--jobs", "1", "--json", check.folder / "kernels.json"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, start_new_session=True)


def kernels(check):
    if check.compiling is None:
        committed = ROOT / "docs" / "kernels.md"
        if not committed.exists():
            raise Skipped("no nvcc here")
        print(committed.read_text(), flush=True)
        raise Skipped("no nvcc here: the table above is the repository's")
    try:
        out, _ = check.compiling.communicate(timeout=max(5, check.left()))
    except subprocess.TimeoutExpired:
        os.killpg(check.compiling.pid, signal.SIGKILL)
        check.compiling.communicate()
        raise Skipped("the compiler was not done in time: scripts/kernel_report.py prints it") from None
    print(out, flush=True)
    (check.folder / "kernels.txt").write_text(out)
    failed = check.compiling.returncode != 0
    check.row("kernels: registers and spills", "failed" if failed else "ok",
              last_lines(out, 1) if failed else "no hot kernel spills; the table is above and in kernels.txt")
