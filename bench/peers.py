#!/usr/bin/env python3
"""Time the competitors of kernel folders on a GPU: the same kernels under Triton, and each spec's `peers` under PyTorch.

usage: bench/peers.py FOLDER... [--match TEXT] [--variant NAME] [--all-configs] [--seconds S] [--json OUT]

Reads the `spec.py` that `nereid bench` reads (docs/design/contract-kernel-folder.md) and measures as it does: every sample is one
pass over the launches between two events, after overwriting the second-level cache; the median is reported. Needs torch and triton.
"""
import argparse
import importlib.util
import inspect
import json
import math
import pathlib
import statistics
import sys

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

DTYPES = {"i1": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8,
          "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
          "f8e4nv": torch.float8_e4m3fn, "f8e5": torch.float8_e5m2}


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
    view = torch.empty(span, device="cuda", dtype=kind).as_strided(shape, strides, offset)
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
    return torch.randn(shape, device="cuda") * std + mean


def uniform(shape, dtype, low=0, high=1):
    return torch.rand(shape, device="cuda") * (high - low) + low


def constant(shape, dtype, value=0):
    return torch.full(shape, value, device="cuda", dtype=torch.float64)


def randint(shape, low, high, dtype, **_):
    return Tensor(torch.randint(low, high, (shape,) if isinstance(shape, int) else tuple(shape), device="cuda").to(DTYPES[dtype]), dtype)


def full(shape, value, dtype, **more):
    return builder(lambda s, dtype: constant(s, dtype, value))(shape, dtype, **more)


def computed(shape, dtype):
    return Tensor(torch.empty(shape, device="cuda", dtype=DTYPES[dtype]), dtype, computed=True)


def unsupported(why):
    raise Unsupported(why)


def eps(dtype):
    return 2.0 ** -10 if dtype == "tf32" else torch.finfo(DTYPES[dtype]).eps


NAMES = dict(
    randn=builder(normal), rand=builder(uniform), randint=randint, full=full, computed=computed,
    zeros=builder(lambda s, dtype: constant(s, dtype)), ones=builder(lambda s, dtype: constant(s, dtype, 1)),
    empty=builder(lambda s, dtype: torch.empty(s, device="cuda")),
    arange=lambda n, dtype: Tensor(torch.arange(n, device="cuda").to(DTYPES[dtype]), dtype),
    permutation=lambda n, dtype: Tensor(torch.randperm(n, device="cuda").to(DTYPES[dtype]), dtype),
    values=lambda data, dtype: Tensor(torch.tensor(data, device="cuda").to(DTYPES[dtype]), dtype),
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

    def run(self, launches):
        for one in launches:
            if 0 in one.grid:
                continue
            unwrap = lambda v: (v.data if isinstance(v, Tensor) else
                                TensorDescriptor.from_tensor(v.tensor.data, v.block) if isinstance(v, Descriptor) else v)
            self.kernel(one.kernel)[tuple(one.grid)](*map(unwrap, one.args), **{k: unwrap(v) for k, v in one.kwargs.items()})


def median(run, seconds):
    scrub = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    run()
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(3):
        run()
    end.record()
    torch.cuda.synchronize()
    count = int(min(400, max(7, seconds * 1e3 / max(begin.elapsed_time(end) / 3, 1e-3))))
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    for begin, end in pairs:
        scrub.zero_()
        begin.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in pairs) / 1e3


def label(bindings):
    spell = lambda v: v if isinstance(v, str) else repr(v)
    return bindings.get("label") or " ".join(f"{k}={spell(v)}" for k, v in bindings.items() if k not in ("label", "check"))


def main():
    words = argparse.ArgumentParser()
    words.add_argument("folders", nargs="+")
    words.add_argument("--match", default="")
    words.add_argument("--variant", default="")
    words.add_argument("--all-configs", action="store_true", help="every configuration, not the first alone")
    words.add_argument("--seconds", type=float, default=0.5)
    words.add_argument("--json")
    words = words.parse_args()
    rows = []
    for path in words.folders:
        folder = Folder(path)
        for task in folder.spec.get("tasks", {"": {}}):
            variants = {name: v if isinstance(v, dict) else dict(run=v) for name, v in folder.field(task, "variants").items()}
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
                    first = next(iter(folder.field(before, "variants").values()))
                    first = first if isinstance(first, dict) else dict(run=first)
                    folder.run(call(first["run"], first.get("configs", [{}])[0], inputs, made, bindings))
                outputs = call(folder.field(task, "outputs"), inputs, bindings)
                runs = {}
                for name, variant in variants.items():
                    full = f"{task}.{name}" if task else name
                    if words.variant in ("", full, name) and "cuda" in variant.get("targets", ["cuda"]):
                        for config in variant.get("configs", [{}])[: None if words.all_configs else 1]:
                            runs["triton", full, label(config) if words.all_configs else ""] = lambda variant=variant, config=config: folder.run(
                                call(variant["run"], config, inputs, outputs, bindings))
                if not words.variant:
                    data = {k: v.data if isinstance(v, Tensor) else v for k, v in (inputs | bindings).items()}
                    for name, text in (folder.field(task, "peers") or {}).items():
                        runs[name, task, ""] = lambda text=text: eval(text, {"torch": torch, "F": torch.nn.functional, "math": math} | data)
                for (who, what, config), run in runs.items():
                    row = dict(kernel=folder.path.name, variant=what, device=who, shape=label(case), seconds=None, failure=None)
                    if config:
                        row["config"] = config
                    try:
                        row["seconds"] = median(run, words.seconds)
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
