"""The GPU's products, passes over memory, copies and collectives, as a share of its data sheet."""
import json

from .machine import data_sheet
from .running import last_lines


def calibrate(check):
    path = check.folder / "profile.json"
    ranks = max(1, len(check.gpus))
    status, answer, said = check.verb("calibrate", "--device", "cuda", "--ranks", ranks, "--quick", "--output", path,
                                      timeout=130)  # a second of it for each shape that cuDNN compiles attention for
    if status != 0:
        raise RuntimeError(f"exit {status}: {last_lines(said)}")
    check.profile = path
    measured = json.loads(path.read_text())["concurrencies"][0]
    check.report["calibration"] = answer
    check.row("launch of a kernel", "ok", f"{measured['instruction_overhead_s'] * 1e6:.1f} us")
    check.report["roofline"] = []
    for kind in sorted({sample["type"] for sample in measured["gemms"]}):
        rates = [(2 * s["batch"] * s["m"] * s["n"] * s["k"] / s["time_s"], s) for s in measured["gemms"]
                 if s["type"] == kind]
        roofline(check, f"products, {kind}", max(rates, key=lambda r: r[0]), data_sheet(check, kind), "TFLOP/s", 1e12,
                 lambda s: f"{s['m']} x {s['n']} x {s['k']}")
    for kind, way in sorted({(sample["type"], sample["pass"]) for sample in measured["attentions"]}):
        rates = [(attention_flops(s) / s["time_s"], s) for s in measured["attentions"]
                 if (s["type"], s["pass"]) == (kind, way)]
        roofline(check, f"attention {way}, {kind}", max(rates, key=lambda r: r[0]), data_sheet(check, kind), "TFLOP/s",
                 1e12, lambda s: f"{s['sequences']} x {s['queries']}, {s['query_heads']} heads of {s['head_size']}")
    for kernel in sorted({sample["kernel"] for sample in measured["elementwise"]}):
        rates = [(s["bytes"] / s["time_s"], s) for s in measured["elementwise"] if s["kernel"] == kernel]
        roofline(check, kernel, max(rates, key=lambda r: r[0]), data_sheet(check, "memory"), "TB/s", 1e12,
                 lambda s: f"{s['bytes'] / 2**20:.0f} MiB")
    for direction in ("to_device", "to_host"):
        rates = [(s["bytes"] / s["time_s"], s) for s in measured["host_copies"] if s["direction"] == direction]
        roofline(check, f"copies {direction.replace('_', ' ')}, pinned", max(rates, key=lambda r: r[0]),
                 data_sheet(check, "host"), "GB/s", 1e9, lambda s: f"{s['bytes'] / 2**20:.0f} MiB")
    for kind in sorted({sample["kind"] for sample in measured.get("collectives", [])}):
        best = max((s["payload_bytes"] / s["time_s"], s) for s in measured["collectives"] if s["kind"] == kind)
        check.row(f"{kind}, {best[1]['group_size']} ranks", "ok", f"{best[0] / 1e9:.1f} GB/s algbw")


def roofline(check, what, best, peak, unit, scale, shape):
    rate, sample = best
    share = f", {100 * rate / peak:.0f} % of the data sheet" if peak else ""
    check.report["roofline"].append({"kernel": what, "rate": rate, "peak": peak})
    check.row(what, "ok", f"{rate / scale:.2f} {unit}{share} ({shape(sample)})")


def attention_flops(sample):
    """Of a causal pass, for the keys that each query sees: 2 products forward, 5 backward, whoever's kernels do more."""
    pairs = sample["sequences"] * sample["query_heads"] * sample["queries"] * (sample["queries"] + 1) / 2
    return (4 if sample["pass"] == "forward" else 10) * sample["head_size"] * pairs
