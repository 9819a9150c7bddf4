"""Compares what peer_dump wrote with PyTorch's Llama and GPT-2 from transformers.

Usage: compare_with_transformers.py FOLDER. FOLDER holds a folder per case, see peer_dump.cpp.
Logits, every gradient, and the change of every parameter over a few AdamW steps: relative L2 within 1e-4.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, PreTrainedModel

TOLERANCE = 1e-4


def distance(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """Relative L2 distance in fp64."""
    ours, theirs = ours.double(), theirs.double()
    return float((ours - theirs).norm() / theirs.norm())


class Comparison:
    def __init__(self, case: str):
        self.case = case
        self.worst: dict[str, float] = {}
        self.failures: list[str] = []

    def add(self, what: str, name: str, value: float) -> None:
        self.worst[what] = max(self.worst.get(what, 0.0), value)
        if not value <= TOLERANCE:
            self.failures.append(f"{what} of {name}: {value:.2e}")

    def report(self) -> bool:
        numbers = ", ".join(f"{what} {value:.1e}" for what, value in self.worst.items())
        print(f"{self.case}: largest relative differences: {numbers}")
        for failure in self.failures:
            print(f"  FAILED {failure}")
        return not self.failures


def optimizer_for(model: PreTrainedModel, training: dict) -> torch.optim.Optimizer:
    matrices = [p for p in model.parameters() if p.dim() == 2]
    norms = [p for p in model.parameters() if p.dim() == 1]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": training["weight_decay"]},
            {"params": norms, "weight_decay": 0.0},
        ],
        betas=(training["beta1"], training["beta2"]),
        eps=training["epsilon"],
    )


def mean_loss(model: PreTrainedModel, tokens: dict, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    logits = model(input_ids=tokens["inputs"][step].long()).logits
    targets = tokens["targets"][step].long()
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()), logits


def compare_case(folder: Path) -> bool:
    training = json.loads((folder / "training.json").read_text())
    tokens = load_file(folder / "tokens.safetensors")
    sequences = training["sequences"]
    tokens = {name: t.reshape(t.shape[0], sequences, -1) for name, t in tokens.items()}
    # Without eager attention some releases pick kernels of their own.
    model = AutoModelForCausalLM.from_pretrained(folder / "model", torch_dtype=torch.float32, attn_implementation="eager")
    model.eval()  # without dropout
    initial = {name: p.detach().clone() for name, p in model.named_parameters()}
    comparison = Comparison(folder.name)

    optimizer = optimizer_for(model, training)
    for step, rate in enumerate(training["learning_rates"]):
        optimizer.zero_grad()
        loss, logits = mean_loss(model, tokens, step)
        loss.backward()
        comparison.add("loss", f"step {step}", abs(loss.item() / training["losses"][step] - 1))
        if step == 0:
            comparison.add("logits", "step 0", distance(load_file(folder / "logits.safetensors")["logits"], logits.flatten(0, 1)))
            ours = load_file(folder / "gradients.safetensors")
            theirs = dict(model.named_parameters())
            assert ours.keys() == theirs.keys(), ours.keys() ^ theirs.keys()
            for name, parameter in theirs.items():
                comparison.add("gradient", name, distance(ours[name], parameter.grad))
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), training["clip_norm"])
        comparison.add("gradient norm", f"step {step}", abs(float(norm) / training["gradient_norms"][step] - 1))
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()

    ours = load_file(folder / "updated.safetensors")
    for name, parameter in model.named_parameters():
        comparison.add("parameters", name, distance(ours[name], parameter.detach()))
        assert not torch.equal(initial[name], parameter), f"{name} did not change"
    return comparison.report()


def main() -> int:
    cases = sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_dir())
    assert cases, "nothing to compare"
    results = [compare_case(case) for case in cases]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
