#!/usr/bin/env python3
"""Time the competitors of kernel folders on a GPU: the same kernels under Triton, and each spec's `peers` under PyTorch.

usage: bench/peers.py FOLDER... [--match TEXT] [--variant NAME]... [--all-configs | --tuned] [--seconds S] [--json OUT]

Reads the `spec.py` that `nereid bench` reads (docs/design/contract-kernel-folder.md) and measures as it does: every sample is one
pass over the launches between two events, after overwriting the second-level cache; the median is reported. Needs torch and triton.

A peer's expression sees inputs and bindings of the case, `torch`, `F`, `unsupported("why")`, and `backward(function, inputs, dout)`:
the gradients of `function(*inputs)`, whose forward pass runs once and is not measured.
"""
import argparse
import importlib.util
import inspect
import json
import math
import pathlib
import statistics
import sys
import time

import torch
import torch.nn.attention.bias  # peers name it, and torch alone does not load it
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

DTYPES = {"i1": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8,
          "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
          "f8e4nv": torch.float8_e4m3fn, "f8e5": torch.float8_e5m2}


DEVICE = "cuda"  # where inputs are made


class Tensor:
    """What a spec sees of a tensor; `data` is the torch tensor."""

    def __init__(self, data, dtype, computed=False):
        self.data, self.dtype, self.computed = data, dtype, computed
        self.shape, self.strides = tuple(data.shape), data.stride()

    def stride(self, i):
        return self.data.stride(i)

    def numel(self):
        return self.data.numel()

    def element_size(self):
        return self.data.element_size()

    @property
    def nbytes(self):
        return self.numel() * self.element_size()


class Descriptor:
    def __init__(self, tensor, block, padding="zero"):
        self.tensor, self.block, self.padding = tensor, list(block), padding


class Unsupported(Exception):
    pass


class Launch:
    def __init__(self, kernel, grid, *args, **kwargs):
        self.kernel, self.grid, self.args, self.kwargs = kernel, grid, args, kwargs


def make(dtype, shape, strides, offset, fill):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    kind = DTYPES[dtype]
    if strides is None and not offset:
        return fill(shape).to(kind)
    strides = strides or torch.empty(shape, device="meta").stride()
    span = offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    view = torch.empty(span, device=DEVICE, dtype=kind).as_strided(shape, strides, offset)
    view.copy_(fill(shape).to(kind))
    return view


def builder(fill):
    def build(shape, *args, strides=None, offset=0, **kwargs):
        names = list(inspect.signature(fill).parameters)[1:]
        given = dict(zip(names, args)) | kwargs
        dtype = given.pop("dtype", "f32")
        return Tensor(make(dtype, shape, strides, offset, lambda s: fill(s, dtype, **given)), dtype)
    return build


def normal(shape, dtype, mean=0, std=1):
    return torch.randn(shape, device=DEVICE) * std + mean


def uniform(shape, dtype, low=0, high=1):
    return torch.rand(shape, device=DEVICE) * (high - low) + low


def constant(shape, dtype, value=0):
    return torch.full(shape, value, device=DEVICE, dtype=torch.float64)


def randint(shape, low, high, dtype, **_):
    return Tensor(torch.randint(low, high, (shape,) if isinstance(shape, int) else tuple(shape), device=DEVICE).to(DTYPES[dtype]), dtype)


def full(shape, value, dtype, **more):
    return builder(lambda s, dtype: constant(s, dtype, value))(shape, dtype, **more)


def computed(shape, dtype):
    return Tensor(torch.empty(shape, device=DEVICE, dtype=DTYPES[dtype]), dtype, computed=True)


def unsupported(why):
    raise Unsupported(why)


def eps(dtype):
    return 2.0 ** -10 if dtype == "tf32" else torch.finfo(DTYPES[dtype]).eps


NAMES = dict(
    randn=builder(normal), rand=builder(uniform), randint=randint, full=full, computed=computed,
    zeros=builder(lambda s, dtype: constant(s, dtype)), ones=builder(lambda s, dtype: constant(s, dtype, 1)),
    empty=builder(lambda s, dtype: torch.empty(s, device=DEVICE)),
    arange=lambda n, dtype: Tensor(torch.arange(n, device=DEVICE).to(DTYPES[dtype]), dtype),
    permutation=lambda n, dtype: Tensor(torch.randperm(n, device=DEVICE).to(DTYPES[dtype]), dtype),
    values=lambda data, dtype: Tensor(torch.tensor(data, device=DEVICE).to(DTYPES[dtype]), dtype),
    special=builder(normal), launch=Launch, descriptor=Descriptor, unsupported=unsupported, cdiv=triton.cdiv,
    next_power_of_2=triton.next_power_of_2, prod=math.prod, sqrt=math.sqrt, exp=math.exp, log=math.log, log2=math.log2, eps=eps,
    sizeof=lambda dtype: DTYPES[dtype].itemsize, inf=math.inf, nan=math.nan)


def call(function, *spaces):
    given = {}
    for name, parameter in inspect.signature(function).parameters.items():
        for space in spaces:
            if name in space:
                given[name] = space[name]
                break
        else:
            if parameter.default is inspect.Parameter.empty:
                raise NameError(f"`{function.__name__}` needs `{name}`")
    return function(**given)


class Folder:
    def __init__(self, path):
        self.path = pathlib.Path(path).resolve()
        self.spec = dict(NAMES)
        exec(compile((self.path / "spec.py").read_text(), str(self.path / "spec.py"), "exec"), self.spec)
        self.modules = {}

    def field(self, task, name):
        own = self.spec.get("tasks", {}).get(task, {})
        return own[name] if name in own else self.spec.get(name)

    def kernel(self, name):
        file, _, function = name.rpartition(":")
        file = file or "kernel.py"
        if file not in self.modules:
            sys.path.insert(0, str(self.path))
            for stale in [m for m, v in sys.modules.items() if getattr(v, "__file__", None) and "/kernels/" in v.__file__]:
                if pathlib.Path(sys.modules[stale].__file__).parent != self.path:
                    del sys.modules[stale]
            loaded = importlib.util.spec_from_file_location(pathlib.Path(file).stem, self.path / file)
            module = importlib.util.module_from_spec(loaded)
            sys.modules[pathlib.Path(file).stem] = module
            loaded.loader.exec_module(module)
            self.modules[file] = module
            sys.path.pop(0)
        return getattr(self.modules[file], function)

    def prepare(self, launches):
        """The launches as one call, with nothing left to work out in it."""
        unwrap = lambda v: (v.data if isinstance(v, Tensor) else
                            TensorDescriptor.from_tensor(v.tensor.data, v.block) if isinstance(v, Descriptor) else v)
        ready = [(self.kernel(one.kernel)[tuple(one.grid)], [unwrap(v) for v in one.args], {k: unwrap(v) for k, v in one.kwargs.items()})
                 for one in launches if 0 not in one.grid]

        def run():
            for kernel, args, kwargs in ready:
                kernel(*args, **kwargs)
        return run

    def run(self, launches):
        self.prepare(launches)()


@triton.jit
def read_over(x, steps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * steps * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.int32)
    for step in range(steps):
        total += tl.load(x + at + step * BLOCK)
    tl.store(x + tl.program_id(0) * steps * BLOCK, tl.sum(total, axis=0))


def pause(host):
    """Lets the GPU wait for as long as the host takes to launch what is timed next, or the time of a short kernel would be the host's."""
    torch.cuda._sleep(int((2 * min(host, 1e-3) + 30e-6) * 1.98e9))


def median(run, seconds, cache="written"):
    scrub = torch.empty(256 << 20, dtype=torch.int8, device=DEVICE)
    readable = torch.zeros(32 << 20, dtype=torch.int32, device=DEVICE) if cache == "read" else None
    run()
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    start = time.perf_counter()
    for _ in range(3):
        run()
    host = (time.perf_counter() - start) / 3
    end.record()
    torch.cuda.synchronize()
    count = int(min(400, max(7, seconds * 1e3 / max(begin.elapsed_time(end) / 3, 1e-3))))
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    for begin, end in pairs:
        pause(host)
        scrub.zero_()
        if cache == "read":
            read_over[(readable.numel() // (2048 * 16),)](readable, 16, BLOCK=2048)
        begin.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in pairs) / 1e3


def prepare(folder, task, inputs, outputs, bindings):
    """Runs the first variant of a task that takes the case."""
    skipped = None
    for variant in folder.field(task, "variants").values():
        variant = variant if isinstance(variant, dict) else dict(run=variant)
        if "cuda" not in variant.get("targets", ["cuda"]):
            continue
        try:
            return folder.run(call(variant["run"], variant.get("configs", [{}])[0], inputs, outputs, bindings))
        except Unsupported as why:
            skipped = why
    raise skipped or Unsupported("no variant is for a GPU")


def tuned_choice(folder, task, case):
    """The variant, configuration and time that the folder's tuned.json has as the fastest of a case on this GPU, or on one with its code."""
    table = folder.path / "tuned.json"
    spell = lambda value: str(value) if isinstance(value, list) else value
    wanted = {k: spell(v) for k, v in case.items() if k not in ("label", "check")}
    rows = [row for row in (json.loads(table.read_text())["rows"] if table.exists() else [])
            if row.get("target", "").startswith("sm_") and row["case"] == wanted
            and (row["variant"].split(".")[0] == task if task else "." not in row["variant"])]
    # As the engine: of this device, else of one that runs the same code.
    own = [row for row in rows if row.get("device") == torch.cuda.get_device_name()]
    target = "sm_%d%d" % torch.cuda.get_device_capability()
    rows = own or [row for row in rows if row["target"].rstrip("a") == target]
    best = min(rows, key=lambda row: row["seconds"], default=None)
    return best and (best["variant"], best["config"], best["seconds"])


def later(make):
    """A call that is made when it is called first."""
    made = []

    def run():
        if not made:
            made.append(make())
        made[0]()
    return run


def gradients():
    """`backward` of one expression."""
    kept = []

    def backward(function, inputs, dout):
        if not kept:
            leaves = [x.detach().requires_grad_() for x in inputs]
            kept.extend((function(*leaves), leaves))
        return torch.autograd.grad(kept[0], kept[1], dout, retain_graph=True)
    return backward


def label(bindings):
    spell = lambda v: v if isinstance(v, str) else repr(v)
    return bindings.get("label") or " ".join(f"{k}={spell(v)}" for k, v in bindings.items() if k not in ("label", "check"))


def main():
    words = argparse.ArgumentParser()
    words.add_argument("folders", nargs="+")
    words.add_argument("--match", default="")
    words.add_argument("--variant", action="append", default=[], help="of these variants and their tasks alone")
    words.add_argument("--all-configs", action="store_true", help="every configuration, not the first alone")
    words.add_argument("--tuned", action="store_true", help="of each case the variant and configuration that tuned.json has as the fastest")
    words.add_argument("--seconds", type=float, default=0.5)
    words.add_argument("--cache", choices=["written", "read"], default="written", help="what the second-level cache holds before each sample, as in `nereid bench`")
    words.add_argument("--json")
    words = words.parse_args()
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=DEVICE))
    rows = []
    for path in words.folders:
        folder = Folder(path)
        for task in folder.spec.get("tasks", {"": {}}):
            variants = {f"{task}.{name}" if task else name: v if isinstance(v, dict) else dict(run=v) for name, v in folder.field(task, "variants").items()}
            if words.variant:
                variants = {full: v for full, v in variants.items() if full in words.variant or full.split(".")[-1] in words.variant}
            if not variants:
                continue
            for case in folder.field(task, "bench") or []:
                bindings = {k: v for k, v in case.items() if k not in ("label", "check")}
                if words.match not in label(case):
                    continue
                torch.manual_seed(0)
                inputs = call(folder.field(task, "inputs"), bindings)
                blanks = {k: v for k, v in inputs.items() if isinstance(v, Tensor) and v.computed}
                if blanks:
                    before = folder.field(task, "prepare")
                    made = call(folder.field(before, "outputs"), inputs, bindings) | blanks
                    try:
                        prepare(folder, before, inputs, made, bindings)
                    except Exception as error:
                        print(f"{folder.path.name} {task} {label(case)}: {type(error).__name__}: {error}", flush=True)
                        continue
                outputs = call(folder.field(task, "outputs"), inputs, bindings)
                runs = {}
                chosen = tuned_choice(folder, task, case) if words.tuned else None
                for full, variant in variants.items():
                    if "cuda" not in variant.get("targets", ["cuda"]):
                        continue
                    configs = variant.get("configs", [{}])[: None if words.all_configs else 1]
                    if words.tuned:
                        configs = [chosen[1]] if chosen and chosen[0] == full else []
                    for config in configs:
                        runs["triton", full, label(config) if words.all_configs or words.tuned else ""] = later(
                            lambda variant=variant, config=config: folder.prepare(call(variant["run"], config, inputs, outputs, bindings)))
                data = {k: v.data if isinstance(v, Tensor) else v for k, v in (inputs | bindings).items()}
                for name, text in (folder.field(task, "peers") or {}).items():
                    names = dict(torch=torch, F=torch.nn.functional, math=math, unsupported=unsupported, backward=gradients(), **data)
                    runs[name, task, ""] = lambda text=text, names=names: eval(text, names)
                for (who, what, config), run in runs.items():
                    row = dict(kernel=folder.path.name, variant=what, device=who, shape=label(case), seconds=None, failure=None)
                    if config:
                        row["config"] = config
                    try:
                        row["seconds"] = median(run, words.seconds, words.cache)
                    except Unsupported as why:
                        row["failure"] = f"skipped: {why}"
                    except Exception as error:  # a peer's failure is a row, not the end
                        row["failure"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
                    rows.append(row)
                    shown = f"{row['seconds'] * 1e6:10.1f} us" if row["seconds"] else row["failure"]
                    print(f"{row['kernel']:18} {what:24} {who:8} {row['shape']:40} {shown} {config}", flush=True)
    if words.json:
        pathlib.Path(words.json).write_text(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
