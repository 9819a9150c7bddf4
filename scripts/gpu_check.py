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
import sys

from gpu_stages.calibrate import calibrate
from gpu_stages.check import Check
from gpu_stages.kernels import begin_kernels, kernels
from gpu_stages.machine import machine
from gpu_stages.parity import kill, parity
from gpu_stages.train import pytorch, train
from gpu_stages.unit_tests import sanitizer, tests


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/gpu")
    parser.add_argument("--folder", default="build/gpu-check")
    parser.add_argument("--seconds", type=float, default=280)
    parser.add_argument("--only", default="", help="stages, separated by commas")
    check = Check(parser.parse_args())
    try:
        machine(check)
    except RuntimeError as failure:
        print(f"gpu_check: {failure}", file=sys.stderr)
        return 1
    begin_kernels(check)
    # What says most first: time may run out.
    for name, function, needs_gpu in [("tests", tests, False), ("calibrate", calibrate, True),
                                      ("train", train, True), ("parity", parity, False),
                                      ("kill", kill, False), ("pytorch", pytorch, True),
                                      ("sanitizer", sanitizer, True), ("kernels", kernels, False)]:
        check.stage(name, function, needs_gpu)
    return check.finish()


if __name__ == "__main__":
    sys.exit(main())
