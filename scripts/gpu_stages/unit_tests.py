"""The GoogleTest programs: contract tests, whole steps, and the device's under compute-sanitizer."""
import os
import re
import shutil

from .running import ROOT, Skipped, last_lines, text_of


def gtest(check, what, program, tests, timeout, environment=None):
    """A GoogleTest program's tests by filter, as one row; True unless some failed."""
    path = check.build / program
    if not path.exists():
        check.row(what, "skipped", f"{program} isn't built")
        return True
    status, out = text_of([path, f"--gtest_filter={tests}"], min(timeout, check.left()), env=environment, cwd=ROOT)
    ran = re.search(r"(\d+) tests? from \d+ test suites? ran", out)
    passed = re.search(r"PASSED  \] (\d+)", out)
    skipped = re.search(r"SKIPPED \] (\d+)", out)
    counts = f"{passed.group(1) if passed else 0} passed"
    counts += f", {skipped.group(1)} skipped" if skipped else ""
    if status == 0 and ran and ran.group(1) != "0":
        all_skipped = skipped and passed and passed.group(1) == "0"
        check.row(what, "skipped" if all_skipped else "ok", counts)
        return True
    if status == 0:
        check.row(what, "skipped", "no such test in this build")
        return True
    failed = re.findall(r"^\[  FAILED  \] ([\w/.]+)", out, re.M)
    why = ", ".join(sorted(set(failed))[:4]) or last_lines(out)
    if status is None:
        why = f"not done in {timeout} s: it hangs, or the machine is busy"
    check.row(what, "failed", f"{counts}; {why}")
    return False


def tests(check):
    gtest(check, "communicators, over a fake NCCL", "tests/executor/test_executor",
          "*CommunicatorWith*:*EachCommunicator*:Nccl*:FlightRecorder*", 60)
    gtest(check, "whole steps, over a fake NCCL", "tests/executor/worker/test_parity",
          "*OverNccl*mbs2*bucket_1B:SeededBug*", 60)
    gtest(check, "device: kernels, on the CPU", "tests/executor/test_executor",
          "*-*Communicator*:*Cuda*:*cuda*:*Launch*:*Supervisor*:*Nccl*:*Members*:Store*", 90)
    if not check.gpus:
        check.row("kernels and steps, on the GPU", "skipped", "no GPU")
        return
    # cuDNN compiles for each shape.
    gtest(check, "device: kernels, on the GPU", "tests/executor/test_executor", "*Cuda*:*cuda*", 120)
    gtest(check, "whole steps, on the GPU", "tests/executor/worker/test_parity", "CudaKernels*", 60)


def sanitizer(check):
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if tool is None:
        raise Skipped("compute-sanitizer isn't installed")
    program = check.build / "tests" / "executor" / "test_executor"
    # Of our own kernels: cuDNN's would take most of the time.
    status, out = text_of([tool, "--error-exitcode", 9, program, "--gtest_filter=*Cuda*:*cuda*-*CudaFused*"],
                          min(90, check.left()), cwd=ROOT, env={**os.environ, "TRAINYARD_ATTENTION": "own"})
    if status is not None and "Device not supported" in out:
        raise Skipped("compute-sanitizer doesn't take this device")
    errors = re.search(r"ERROR SUMMARY: (\d+) error", out)
    if status is None:
        check.row("compute-sanitizer", "skipped", "not done in its time")
    else:
        check.row("compute-sanitizer", "ok" if status == 0 else "failed",
                  f"{errors.group(1)} errors" if errors else last_lines(out, 2))
