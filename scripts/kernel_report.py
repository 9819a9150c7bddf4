#!/usr/bin/env python3
"""Reports what nvcc made of the GPU kernels: registers, spills, shared memory, how many blocks a processor holds.

    scripts/kernel_report.py [--arch 90a] [--nvcc NVCC] [--from JSON] [--markdown FILE] [--json FILE]

Compiles executor/device/cuda/*.cu with -Xptxas -v (no GPU needed; a minute or two) and prints a table; --from takes an
earlier report instead. Exits 1 if a kernel spills registers to memory. Bytes and bounds of each kernel stand in
executor/kernel and executor/device/cuda/kernels; the table's last column names what bounds it. The markdown ends with
what scripts/roofline.py estimates from it of a model's speed.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import roofline

ROOT = pathlib.Path(__file__).resolve().parent.parent
CUDA = ROOT / "executor" / "device" / "cuda"

# Of a multiprocessor: registers, threads, blocks, shared memory that blocks can have.
LIMITS = {
    "80": (65536, 2048, 32, 163 * 1024),
    "90": (65536, 2048, 32, 227 * 1024),
    "100": (65536, 2048, 32, 227 * 1024),
}

# Bytes in HBM that a kernel moves, by what it is given (T: bytes of an element, G: of a gradient's), and its bound.
MOVES = {
    "AttentionForward": ("4 t a d FLOP per key seen; Q, K, V, out once", "tensor cores (16 bits), fp32 units"),
    "AttentionDelta": ("2 t a d T read, 4 t a written", "HBM"),
    "AttentionQueryGradient": ("6 t a d FLOP per key seen", "tensor cores (16 bits), fp32 units"),
    "AttentionKeyGradient": ("8 t a d FLOP per key seen", "tensor cores (16 bits), fp32 units"),
    "NormForward": ("t h: 4 T with a branch, 2 T without", "HBM"),
    "NormBackward": ("t h: 4 T with incoming, 3 T without", "HBM"),
    "LayerNormForward": ("t h: 4 T with a branch, 2 T without", "HBM"),
    "LayerNormBackward": ("t h: 4 T with incoming, 3 T without", "HBM"),
    "SwigluForward": ("3 T t f", "HBM"),
    "SwigluBackward": ("5 T t f", "HBM"),
    "EmbedForward": ("2 T t h", "HBM"),
    "EmbedBackward": ("T t h + 2 G h per row that occurs", "HBM"),
    "LossStatisticsKernel": ("T t v", "HBM"),
    "LossGradientKernel": ("2 T t v", "HBM"),
    "AddKernel": ("3 T n", "HBM"),
    "PositionForward": ("2 T t h", "HBM"),
    "PositionBackward": ("T t h + 2 G s h", "HBM"),
    "GeluForward": ("2 T n", "HBM"),
    "GeluBackward": ("3 T n", "HBM"),
    "RopeKernel": ("2 T t (a + g) d", "HBM"),
    "AdamWKernel": ("(24 + G) n, 2 n more for a 16-bit working copy", "HBM"),
    "SgdKernel": ("(8 + G) n, 8 n more with velocity", "HBM"),
    "ColumnPartialSums": ("T t n for biases, 2 T t n for norms", "HBM"),
    "ColumnSums": ("4 chunks n, from L2", "L2"),
    "SumOfSquares": ("T n", "HBM"),
    "LargestMagnitude": ("T n", "HBM"),
    "Float8Cast": ("(T + 1) n", "HBM"),
    "Float8CastTurned": ("(T + 1) n", "HBM"),
    "ClipScaleKernel": ("80 bytes", "launch"),
}


def compile_report(nvcc, arch, source, folder):
    command = [nvcc, "-std=c++20", "-O3", "--expt-relaxed-constexpr", "-Xptxas", "-v", "-diag-suppress", "20012",
               f"-gencode=arch=compute_{arch},code=sm_{arch}", f"-I{ROOT}", "-Xcompiler=-Wno-unknown-pragmas,-fPIC",
               "-cubin", "-o", str(folder / (source.stem + ".cubin")), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"nvcc could not compile {source.name}:\n{done.stderr[-3000:]}")
    return done.stderr


def demangle(names):
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def short_name(name):
    """run_kernel<trainyard::executor::NormForward<float> >(...) -> NormForward<fp32>"""
    inner = name[name.index("run_kernel<") + len("run_kernel<"):name.rindex("(")].rstrip()
    inner = inner[:-1].strip()
    for old, new in (("trainyard::executor::", ""), ("Bfloat16", "bf16"), ("Float16", "fp16"), ("Float8E4M3", "e4m3"),
                     ("Float8E5M2", "e5m2"), ("float", "fp32"), (" >", ">")):
        inner = inner.replace(old, new)
    return inner


def parse(text):
    kernels = []
    for part in re.split(r"Compiling entry function ", text)[1:]:
        number = lambda pattern: int((re.search(pattern, part) or [0, 0])[1])
        kernels.append({
            "mangled": re.match(r"'([^']+)'", part)[1],
            "registers": number(r"Used (\d+) registers"),
            "stack": number(r"(\d+) bytes stack frame"),
            "spill_stores": number(r"(\d+) bytes spill stores"),
            "spill_loads": number(r"(\d+) bytes spill loads"),
            "static_shared": number(r"(\d+) bytes smem"),
        })
    return kernels


def tile_bytes(name):
    """Dynamic shared memory of the attention kernels, which depends on their types alone; of others at most 8 KiB."""
    found = re.match(r"Attention(Forward|QueryGradient|KeyGradient)<(\w+), (\d+)>", name)
    if not found:
        return 8192 if name.startswith("ColumnPartialSums") else 64 * 68 if "Turned" in name else 1024
    size = 4 if found[2] == "fp32" else 2
    pad = 16 // size
    width = int(found[3]) + pad
    if found[1] == "Forward":
        return size * (3 * 64 * width + 64 * (64 + pad))
    elements = 2 * (64 + 32) * width + 64 * (32 + pad)
    return size * elements + (256 if found[1] == "KeyGradient" else 0)


def threads_of(name):
    if name.startswith(("AttentionForward", "AttentionQuery", "AttentionKey")):
        return 128
    if name.startswith("Loss"):
        return 512
    return 32 if name.startswith("Clip") else 256


def occupancy(kernel, arch):
    registers, threads, blocks, shared = LIMITS[re.match(r"\d+", arch)[0]]
    warps = kernel["threads"] // 32
    a_warp = (kernel["registers"] * 32 + 255) // 256 * 256
    by_registers = registers // a_warp // warps
    by_shared = shared // (kernel["shared"] + 1024)
    return min(blocks, threads // kernel["threads"], by_registers, by_shared)


def report(nvcc, arch, jobs):
    sources = sorted(CUDA.glob("*.cu"))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        texts = pool.map(lambda source: compile_report(nvcc, arch, source, pathlib.Path(folder)), sources)
        kernels = [kernel for text in texts for kernel in parse(text)]
    for kernel, name in zip(kernels, demangle([kernel["mangled"] for kernel in kernels])):
        kernel["name"] = short_name(name)
        kernel["threads"] = threads_of(kernel["name"])
        kernel["shared"] = kernel["static_shared"] + tile_bytes(kernel["name"])
        kernel["blocks"] = occupancy(kernel, arch)
        kernel["moves"], kernel["bound"] = MOVES[re.match(r"\w+", kernel["name"])[0]]
        del kernel["mangled"]
    return sorted(kernels, key=lambda kernel: kernel["name"])


def table(kernels):
    rows = [("kernel", "threads", "registers", "spilled", "shared", "blocks", "warps", "bytes or FLOPs", "bound by")]
    for k in kernels:
        rows.append((k["name"], k["threads"], k["registers"], k["spill_stores"] + k["spill_loads"], k["shared"],
                     k["blocks"], k["blocks"] * k["threads"] // 32, k["moves"], k["bound"]))
    return rows


def markdown(rows, arch, version):
    lines = ["# GPU kernels", "",
             f"Made by `scripts/kernel_report.py` with nvcc {version} for sm_{arch}; not measured on a GPU. Threads, "
             "registers a thread, bytes spilled (stores and loads) and shared memory of a block at its largest; blocks "
             "and warps that a multiprocessor holds at once by these (64 warps at most). What a kernel moves is in "
             "bytes of HBM: T, G bytes of an element and of a gradient, t tokens, h hidden, f inner, v vocabulary, a "
             "heads, g key heads, d head size, n elements. The least time is bytes over the HBM's bandwidth, or FLOPs "
             "over the units' rate.", ""]
    lines.append("| " + " | ".join(map(str, rows[0])) + " |")
    lines.append("|" + "|".join(["---"] + ["--:"] * 6 + ["---"] * 2) + "|")
    lines += ["| " + " | ".join([f"`{row[0]}`"] + list(map(str, row[1:]))) + " |" for row in rows[1:]]
    return "\n".join(lines) + "\n"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--arch", default="90a", help="80, 90a or 100a")
    options.add_argument("--nvcc", default=os.environ.get("CUDACXX") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--from", dest="earlier", metavar="JSON")
    options.add_argument("--markdown", metavar="FILE")
    options.add_argument("--json", metavar="FILE")
    options = options.parse_args()
    if options.earlier:
        earlier = json.loads(pathlib.Path(options.earlier).read_text())
        version, options.arch, kernels = earlier["nvcc"], earlier["arch"], earlier["kernels"]
    else:
        if not shutil.which(options.nvcc):
            sys.exit(f"{options.nvcc} was not found: the report needs CUDA's compiler, but no GPU")
        version = re.search(r"release ([\d.]+)", subprocess.run([options.nvcc, "--version"], capture_output=True,
                                                               text=True, check=True).stdout)[1]
        kernels = report(options.nvcc, options.arch, options.jobs)
    rows = table(kernels)
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) if column in (0, 7, 8) else str(cell).rjust(width)
                        for column, (cell, width) in enumerate(zip(row, widths))).rstrip())
    if options.markdown:
        pathlib.Path(options.markdown).write_text(markdown(rows, options.arch, version) + "\n"
                                                  + roofline.markdown(roofline.estimate(kernels)))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"nvcc": version, "arch": options.arch, "kernels": kernels},
                                                         indent=1) + "\n")
    spilled = [kernel["name"] for kernel in kernels if kernel["spill_stores"] + kernel["spill_loads"] > 0]
    print(f"\n{len(kernels)} kernels, {len(spilled)} spill" + (": " + ", ".join(spilled) if spilled else ""))
    sys.exit(1 if spilled else 0)


if __name__ == "__main__":
    main()
