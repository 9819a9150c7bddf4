#!/usr/bin/env python3
"""PyTorch's tokens/s for a model on one GPU: compiled, bf16 autocast with fp32 weights, fused AdamW, the library's attention.

  scripts/gpu_check_torch.py CONFIG.json SEQUENCE BATCH

CONFIG is a Hugging Face config.json of GPT-2 or Llama. Prints one JSON object last. The micro-batch is the largest of 8, 4,
2 and 1 that the memory holds; the rest of the BATCH sequences accumulates.
"""
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional


def rotate(x, cosines, sines):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cosines - b * sines, b * cosines + a * sines), dim=-1)


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        h, f, self.heads, self.kv, self.size = (shape[key] for key in ("hidden", "feed", "heads", "kv", "size"))
        self.llama = shape["llama"]
        norm = nn.RMSNorm if self.llama else nn.LayerNorm
        self.norm1, self.norm2 = norm(h), norm(h)
        self.qkv = nn.Linear(h, (self.heads + 2 * self.kv) * self.size, bias=not self.llama)
        self.out = nn.Linear(self.heads * self.size, h, bias=not self.llama)
        self.up = nn.Linear(h, 2 * f if self.llama else f, bias=not self.llama)
        self.down = nn.Linear(f, h, bias=not self.llama)

    def forward(self, x, cosines, sines):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).split([self.heads * self.size, self.kv * self.size, self.kv * self.size], -1)
        q, k, v = (y.view(b, t, -1, self.size).transpose(1, 2) for y in (q, k, v))
        if self.llama:
            q, k = rotate(q, cosines, sines), rotate(k, cosines, sines)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv != self.heads)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, -1))
        up = self.up(self.norm2(x))
        if self.llama:
            gate, value = up.chunk(2, dim=-1)
            return x + self.down(functional.silu(gate) * value)
        return x + self.down(functional.gelu(up, approximate="tanh"))


class Model(nn.Module):
    def __init__(self, shape, sequence):
        super().__init__()
        h = shape["hidden"]
        self.table = nn.Embedding(shape["vocabulary"], h)
        self.places = None if shape["llama"] else nn.Embedding(sequence, h)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape["layers"]))
        self.norm = nn.RMSNorm(h) if shape["llama"] else nn.LayerNorm(h)
        angles = torch.outer(torch.arange(sequence), 10000.0 ** (-torch.arange(0, shape["size"], 2) / shape["size"]))
        self.register_buffer("cosines", angles.cos())
        self.register_buffer("sines", angles.sin())
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, tokens, targets):
        x = self.table(tokens)
        if self.places is not None:
            x = x + self.places.weight
        for block in self.blocks:
            x = block(x, self.cosines.to(x.dtype), self.sines.to(x.dtype))
        logits = functional.linear(self.norm(x), self.table.weight)  # tied, as both models have it
        return functional.cross_entropy(logits.view(-1, logits.size(-1)).float(), targets.view(-1))


def shape_of(config):
    if config["model_type"] == "gpt2":
        h, heads = config["n_embd"], config["n_head"]
        return dict(llama=False, hidden=h, feed=4 * h, heads=heads, kv=heads, size=h // heads, layers=config["n_layer"],
                    vocabulary=config["vocab_size"])
    h, heads = config["hidden_size"], config["num_attention_heads"]
    return dict(llama=True, hidden=h, feed=config["intermediate_size"], heads=heads,
                kv=config.get("num_key_value_heads", heads), size=config.get("head_dim") or h // heads,
                layers=config["num_hidden_layers"], vocabulary=config["vocab_size"])


def measure(shape, sequence, batch, micro, steps=8):
    model = Model(shape, sequence).cuda()
    step_model = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, shape["vocabulary"], (batch, sequence), device="cuda")
    times = []
    for _ in range(steps):
        torch.cuda.synchronize()
        begin = time.monotonic()
        for first in range(0, batch, micro):
            part = tokens[first:first + micro]
            with torch.autocast("cuda", torch.bfloat16):
                loss = step_model(part, part) * (micro / batch)
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append(time.monotonic() - begin)
    return statistics.median(times[3:])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        shape = shape_of(json.load(file))
    sequence, batch = int(sys.argv[2]), int(sys.argv[3])
    torch.set_float32_matmul_precision("high")
    micro = 8
    while True:
        try:
            seconds = measure(shape, sequence, batch, min(micro, batch))
            break
        except torch.cuda.OutOfMemoryError:
            if micro == 1:
                raise
            micro //= 2
            torch.cuda.empty_cache()
    print(json.dumps({"tokens_per_s": batch * sequence / seconds, "step_s": seconds, "micro_batch": min(micro, batch),
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
