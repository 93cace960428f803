#!/usr/bin/env python3
"""Small PyTorch models under torch.compile, their generated Triton kernels run by Nereid: forward and backward against the
same model in f64, beside the error that PyTorch itself has without compilation.

    scripts/torch-compile.py [--package FOLDER] [--python PYTHON] [--triton | --beside] [--only NAMES] [--large] [--device cuda] [--jobs N] [--limit SECONDS]

A line a model: the kernels that were launched, the largest error of a result or a gradient relative to the largest value of
its tensor (compiled, plain), the time until the first result and that of a step forward and backward (compiled, plain).
--triton runs what is installed as `triton` instead, --beside both, with the ratios of their times (above 1, Nereid is faster). Models are timed
one by one while none compiles, however many jobs there are. --large makes them as wide as real ones, so that kernels and not launches take the time of a step. Exit code 1 if a model fails or is less exact than it may be.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAM = r'''
import copy, fcntl, json, math, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import torch._inductor.config as config

name, device, dtype_name = sys.argv[1:4]
dtype = getattr(torch, dtype_name)
cuda = device == "cuda"
if not cuda:
    config.cpu_backend = "triton"
config.fx_graph_cache = False
torch.manual_seed(0)
W, T, B = (1024, 1024, 8) if sys.argv[4] == "large" else (256, 128, 16) if cuda else (32, 16, 3)  # width, positions, batch
turn = open(sys.argv[5])
fcntl.flock(turn, fcntl.LOCK_SH)  # until it is timed, which it is alone: no other model compiles meanwhile


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(w // self.heads)
        hidden = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        return self.out((scores.masked_fill(hidden, -math.inf).softmax(-1) @ v).transpose(1, 2).reshape(b, t, w))


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.n1, self.n2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.mlp(self.n2(x))


class Gated(nn.Module):
    """RMSNorm, SwiGLU and rotary positions."""

    def __init__(self, width):
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(*size, bias=False) for size in ((width, 2 * width), (width, 2 * width), (2 * width, width)))
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        angle = torch.arange(x.shape[1], device=x.device)[:, None] / 100 ** torch.linspace(0, 1, x.shape[2] // 2, device=x.device)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x.chunk(2, -1)
        x = torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
        x = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.scale
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                                  nn.GroupNorm(4, 32), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))

    def forward(self, x):
        return self.body(x)


class Entropy(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.head, self.classes = nn.Linear(W, classes), classes

    def forward(self, x):
        logits = self.head(x).flatten(0, 1)
        labels = torch.arange(logits.shape[0], device=x.device) * 7 % self.classes
        return F.cross_entropy(logits.float() if logits.dtype != torch.float64 else logits, labels, label_smoothing=0.1)


class Language(nn.Module):
    """Embedding, two blocks and the loss over a vocabulary."""

    def __init__(self):
        super().__init__()
        self.embedding, self.blocks, self.head = nn.Embedding(1000, W), nn.Sequential(Block(W), Block(W)), Entropy(1000)

    def forward(self, x):
        return self.head(self.blocks(self.embedding((x[..., 0].abs() * 300).long() % 1000)))


class Flex(nn.Module):
    def __init__(self):
        super().__init__()
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        self.call, self.qkv = flex_attention, nn.Linear(W, 3 * W)
        self.mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, T, T, device=device)

    def forward(self, x):
        q, k, v = self.qkv(x).view(x.shape[0], T, 3, 4, W // 4).permute(2, 0, 3, 1, 4)
        bias = lambda score, b, h, q, k: score + (q - k) * 0.01
        return self.call(q, k, v, score_mod=bias, block_mask=self.mask)


class Function(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call, self.scale = call, nn.Parameter(torch.ones(()))

    def forward(self, x):
        return self.call(x * self.scale)


def scatter(x):
    rows = torch.arange(x.shape[1], device=x.device) % 5
    return torch.zeros(x.shape[0], 5, x.shape[2], device=x.device, dtype=x.dtype).index_add(1, rows, x)


MODELS = {
    "mlp": lambda: nn.Sequential(nn.Linear(W, 2 * W), nn.GELU(), nn.Linear(2 * W, W), nn.Softmax(-1)),
    "layer norm": lambda: nn.Sequential(nn.LayerNorm(W), nn.Linear(W, W), nn.LayerNorm(W)),
    "attention block": lambda: Block(W),
    "gated block": lambda: Gated(W),
    "cross entropy": lambda: Entropy(5000 if cuda else 500),
    "language model": Language,
    "convolutions": Convolutions,
    "flex attention": Flex,
    "scans": lambda: Function(lambda x: torch.cumsum(x, 1) + torch.logcumsumexp(x, 2)),
    "sort": lambda: Function(lambda x: torch.sort(x, 2).values * torch.topk(x, 3, 2).values.sum(-1, keepdim=True)),
    "reductions": lambda: Function(lambda x: torch.cat((x.amax(1), x.var(1), x.prod(1) * 1e-3, torch.logsumexp(x, 1), x.norm(dim=1)))),
    "scatter": lambda: Function(scatter),
    "pointwise": lambda: Function(lambda x: torch.erf(x) * torch.tanh(x) + F.softplus(x) * torch.atan2(x, x + 3) + torch.exp2(x) % 1.5),
    "matmul templates": lambda: nn.Sequential(nn.Linear(W, 2 * W), nn.ReLU(), nn.Linear(2 * W, W)),
    "graphs": lambda: Block(W),
    "changing sizes": lambda: Block(W),
}
make = MODELS[name]
options = {}
if name == "matmul templates":
    config.max_autotune_gemm_backends = "TRITON"
    options["mode"] = "max-autotune-no-cudagraphs"
elif name == "graphs" and cuda:
    options["mode"] = "reduce-overhead"
elif name == "changing sizes":
    options["dynamic"] = True
model = make().to(device)
exact = copy.deepcopy(model).double()
model = model.to(dtype)
exact.load_state_dict({key: value.double() for key, value in model.state_dict().items()})
shape = (B, 3, 32, 32) if name == "convolutions" else (B, T, W)
launched = set()


def note(metadata):
    launched.add(metadata.get()["name"])


def step(call, owner, x):
    owner.zero_grad()
    x = x.detach().requires_grad_()
    result = call(x)
    weights = torch.linspace(-1, 1, result.numel(), device=device, dtype=torch.float64).view(result.shape).to(result.dtype)
    (result * weights).sum().backward()
    return [result.detach().clone(), *([x.grad] if x.grad is not None else []),
            *(one.grad.clone() for one in owner.parameters() if one.grad is not None)]


def measure(call, owner, x):
    best = 1e9
    for _ in range(3):
        step(call, owner, x)
    for _ in range(5):
        if cuda:
            torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(10):
            step(call, owner, x)
        if cuda:
            torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / 10)
    return round(best * 1e3, 3)


def error(found, wanted, largest):
    """A gradient that cancels to nothing is measured by the others."""
    if not torch.isfinite(found).all():
        return math.inf
    return ((found.double() - wanted).abs().max() / max(wanted.abs().max().item(), 1e-3 * largest)).item()


compiled = torch.compile(model, **options)
inputs = [torch.randn(shape, device=device).to(dtype)]
if name == "changing sizes":
    inputs += [torch.randn(b, t, W, device=device).to(dtype) for b, t in ((B + 2, T + 3), (2, T - 1))]
errors, plain, first, kernels = 0, 0, None, 0
hook = getattr(triton.knobs.runtime, "launch_enter_hook", None) if name != "graphs" else None
for x in inputs:
    wanted = step(exact, exact, x.double())
    eager = step(model, model, x)
    if hook is not None and hasattr(hook, "add"):
        hook.add(note)
    start = time.perf_counter()
    for _ in range(3 if name == "graphs" else 1):
        found = step(compiled, model, x)
    if cuda:
        torch.cuda.synchronize()
    first = first or time.perf_counter() - start
    if hook is not None and hasattr(hook, "remove"):
        hook.remove(note)
    assert len(found) == len(eager) == len(wanted)
    largest = max(one.abs().max().item() for one in wanted)
    errors = max([errors, *(error(*pair, largest) for pair in zip(found, wanted))])
    plain = max([plain, *(error(*pair, largest) for pair in zip(eager, wanted))])
allowed = 4 * plain + 32 * torch.finfo(dtype).eps
fcntl.flock(turn, fcntl.LOCK_EX)
right = errors <= allowed and (name == "graphs" or launched or hook is None)
print(json.dumps({"right": bool(right), "kernels": len(launched), "error": errors, "plain error": plain, "first s": round(first, 1),
                  "ms": measure(compiled, model, inputs[0]), "plain ms": measure(model, model, inputs[0]), "by": triton.__name__}))
'''
CASES = [(name, dtype) for dtype in ("float32", "bfloat16") for name in (
    "mlp", "layer norm", "attention block", "gated block", "cross entropy", "language model", "convolutions", "flex attention", "scans", "sort",
    "reductions", "scatter", "pointwise", "matmul templates", "graphs", "changing sizes")]
NOT_ON_CPU = {"flex attention": "PyTorch has no gradient of it", "matmul templates": "PyTorch times what it fuses on GPUs alone"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", help="the folder that holds `nereid`; by default it is installed")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with torch")
    parser.add_argument("--triton", action="store_true")
    parser.add_argument("--beside", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", default="", help="names of models, with commas between")
    parser.add_argument("--dtype", default="float32,bfloat16")
    parser.add_argument("--device", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=300, help="seconds that a model may take")
    options = parser.parse_args()
    device = options.device or ("cuda" if os.path.exists("/dev/nvidiactl") else "cpu")
    environment = dict(os.environ, TORCHINDUCTOR_COMPILE_THREADS="1")
    if options.package:
        environment["PYTHONPATH"] = os.path.abspath(options.package)
    # torch wants the text of what it traces, so the program is a file.
    folder = tempfile.TemporaryDirectory()
    program = os.path.join(folder.name, "model.py")
    with open(program, "w") as file:
        file.write(PROGRAM)
    whose = {"nereid": ["-m", "nereid"], "triton": []}
    whose = whose if options.beside else {name: whose[name] for name in (["triton"] if options.triton else ["nereid"])}
    only = options.only.split(",") if options.only else [name for name, _ in CASES if device != "cpu" or name not in NOT_ON_CPU]
    if device == "cpu" and not options.only:
        print("\n".join(f"{name:17} left out on a CPU: {why}" for name, why in NOT_ON_CPU.items()))
    cases = [(name, dtype, by) for name, dtype in CASES if name in only and dtype in options.dtype.split(",") for by in whose]

    def run(case):
        name, dtype, by = case
        try:
            done = subprocess.run([options.python, *whose[by], program, name, device, dtype, "large" if options.large else "small", program], capture_output=True, text=True,
                                  timeout=options.limit, env=environment)
        except subprocess.TimeoutExpired:
            return {"why": f"no end within {options.limit:.0f} s"}
        try:
            return json.loads(done.stdout.strip().splitlines()[-1])
        except (IndexError, ValueError):
            said = [line for line in done.stderr.strip().splitlines() if line.strip()]
            last = said[-1] if said else f"exit {done.returncode}"
            return {"why": next((line for line in reversed(said) if "Error" in line or "error:" in line), last),
                    "log": done.stderr[-3000:]}

    failed, times = [], {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = {pool.submit(run, case): case for case in cases}
        for one in concurrent.futures.as_completed(waiting):
            (name, dtype, by), found = waiting[one], one.result()
            if not found.get("right"):
                failed.append((name, dtype, found))
            else:
                times[name, dtype, by] = found
            said = f"FAILED: {found['why'][:200]}" if "why" in found else (
                f"{'ok   ' if found['right'] else 'WRONG'} {found['kernels']:3} kernels, "
                f"error {found['error']:.1e} (plain {found['plain error']:.1e}), first {found['first s']:5.1f} s, "
                f"step {found['ms']:8.3f} ms (plain {found['plain ms']:8.3f}) [{found['by']}]")
            print(f"{name:17} {dtype:9} {said}", flush=True)
    pairs = [(name, dtype, *(times[name, dtype, by] for by in whose)) for name, dtype in CASES if options.beside and all((name, dtype, by) in times for by in whose)]
    ratios = {key: [other[key] / ours[key] for _, _, ours, other in pairs] for key in ("first s", "ms")}
    for (name, dtype, _, _), first, step in zip(pairs, *ratios.values()):
        print(f"{name:17} {dtype:9} first {first:5.2f}  step {step:5.2f}")
    for key, found in ratios.items():
        if found:
            print(f"{key}: {statistics.geometric_mean(found):.3f} in the geometric mean of {len(found)}, least {min(found):.3f}")
    print(f"{len(cases) - len(failed)} of {len(cases)} models are right")
    for name, dtype, found in failed:
        if "log" in found:
            print(f"--- {name} {dtype}\n{found['log']}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
