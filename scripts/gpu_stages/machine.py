"""The machine: its GPUs, libraries and data sheet."""
import json
import re

from .running import ROOT, last_lines


def machine(check):
    status, check.doctor, said = check.verb("doctor", timeout=60)
    if check.doctor is None:
        raise RuntimeError(f"{check.trainyard} doctor: exit {status}: {last_lines(said)}")
    gpu = check.doctor["gpu"]
    check.gpus = gpu["usable"]
    check.report["machine"] = check.doctor
    for one in check.gpus:
        check.row("GPU", "found", f"{one['name']}, {one['memory_bytes'] / 2**30:.0f} GiB")
    if not check.gpus:
        check.row("GPU", "none", gpu["cuda_problem"])
    check.row("NCCL", "found" if gpu["nccl_version"] else "none", gpu["nccl_problem"] or gpu["nccl_library"])
    why = gpu["cudnn_problem"]
    check.row("cuDNN's attention", "none" if why else "found", f"our own kernels: {why}" if why else gpu["cudnn"])
    check.accelerator = find_accelerator(check)


def find_accelerator(check):
    """The data sheet in models/accelerators whose name the GPU's contains."""
    if not check.gpus:
        return None
    name = re.sub(r"[^a-z0-9]+", "-", check.gpus[0]["name"].lower())
    best = None
    for path in sorted((ROOT / "models" / "accelerators").glob("*.json")):
        stem = path.stem.replace("-sxm", "").replace("-pcie", "")
        if stem.split("-")[0] in name and (best is None or len(path.stem) > len(best.stem)):
            best = path
        if path.stem in name:
            best = path
            break
    return json.loads(best.read_text()) if best else None


def data_sheet(check, kind):
    """Of the data sheet, in SI units; None where it isn't known."""
    if check.accelerator is None:
        return None
    named = {"memory": "memory_bandwidth", "host": "host_link_bandwidth"}
    entry = check.accelerator.get(named[kind]) if kind in named else check.accelerator["dense_peak"].get(kind)
    if entry is None:
        return None
    number, unit = entry["value"].split()
    return float(number) * {"T": 1e12, "G": 1e9, "M": 1e6}[unit[0]]
