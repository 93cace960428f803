#!/usr/bin/env python3
"""Runs kernel folders under Triton's own interpreter, to test the folders themselves.

    scripts/corpus-run-folder.py kernels/softmax ... [--case TEXT] [--variant TEXT] [--plan]
    scripts/corpus-run-folder.py --compile [--cases N] kernels/softmax ...    Triton's compiler, to sm_90 PTX, no run
    scripts/corpus-run-folder.py --signatures kernels/softmax ... each different launch as FILE:KERNEL and signature

Needs torch, triton and numpy below 2.4. The spec is executed by CPython with the names of
docs/design/contract-kernel-folder.md, the reference by NumPy, the kernels with TRITON_INTERPRET=1.
Small shapes only: the interpreter runs one program at a time.

Triton's interpreter computes on the bit patterns of bf16 values (`+`, `tl.dot`). A bf16 case that
differs is therefore reported as doubtful and is no failure: only an engine that is right can tell.
"""
import argparse
import builtins
import importlib.util
import inspect
import math
import os
import pathlib
import sys
import time
import types
import zlib

COMPILE = "--compile" in sys.argv or "--signatures" in sys.argv
if not COMPILE:
    os.environ["TRITON_INTERPRET"] = "1"
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402
import torch  # noqa: E402

DTYPES = {
    "i1": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "f8e4nv": torch.float8_e4m3fn, "f8e5": torch.float8_e5m2,
}
EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52,
           "f8e4nv": 2.0**-3, "f8e5": 2.0**-2, "tf32": 2.0**-10}
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 6e-8, 1e-30, 1e30,
           -1e30, 65504.0, -65504.0, 0.5, -3.25]
ALLOWED = ("dict list tuple range len min max sum abs int float str bool round zip enumerate sorted "
           "reversed all any isinstance").split()


class SpecError(Exception):
    """A folder that breaks the contract."""


class EmptyDescriptor(Exception):
    """Triton's host descriptors have no empty dimensions."""


class Tensor:
    """What a spec sees of a tensor: shape, strides and dtype, never data."""

    def __init__(self, shape, dtype, fill, strides=None, offset=0):
        if dtype not in DTYPES:
            raise SpecError(f"unknown dtype {dtype!r}")
        self.shape = tuple(int(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,)))
        self.dtype, self.fill, self.offset = dtype, fill, offset
        if strides is None:
            strides, step = [], 1
            for n in reversed(self.shape):
                strides.insert(0, step)
                step *= max(n, 1)
        self.strides = tuple(strides)
        self.name = self.data = None
        self.computed = False

    def stride(self, dim=None):
        return self.strides if dim is None else self.strides[dim]

    def numel(self):
        return math.prod(self.shape)

    def element_size(self):
        return DTYPES[self.dtype].itemsize

    @property
    def nbytes(self):
        return self.numel() * self.element_size()

    def extent(self):
        return 0 if self.numel() == 0 else 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides))

    def allocate(self, seed):
        """Makes the memory: poison everywhere, then the builder's values in the elements."""
        kind = DTYPES[self.dtype]
        count = self.offset + self.extent() + 8
        if kind.is_floating_point:
            base = torch.full((count,), math.nan, dtype=torch.float32).to(kind)
        else:
            base = torch.full((count,), 1 if kind == torch.bool else torch.iinfo(kind).max, dtype=kind)
        self.data = base.as_strided(self.shape, self.strides, self.offset)
        values = self.fill(self, np.random.default_rng(seed))
        if values is not None and self.numel():
            # A repeated dimension (stride 0) holds the data of its first index.
            view, source = self.data, torch.from_numpy(np.array(np.broadcast_to(values, self.shape)))
            for dim, step in enumerate(self.strides):
                if step == 0 and self.shape[dim] > 1:
                    view, source = view.narrow(dim, 0, 1), source.narrow(dim, 0, 1)
            view.copy_(source.to(kind))

    def exact(self):
        """The values as the reference sees them: f64, i64 or bool."""
        if self.dtype == "i1":
            return self.data.numpy().copy()
        kind = torch.float64 if DTYPES[self.dtype].is_floating_point else torch.int64
        return self.data.to(kind).numpy()


class Descriptor:
    def __init__(self, tensor, block_shape, padding="zero"):
        self.tensor, self.block_shape, self.padding = tensor, list(block_shape), padding


class Launch:
    def __init__(self, kernel, grid, args, kwargs):
        if not (isinstance(grid, tuple) and 1 <= len(grid) <= 3 and all(isinstance(n, int) for n in grid)):
            raise SpecError(f"grid of {kernel!r} is not a tuple of one to three ints: {grid!r}")
        self.file, self.kernel = kernel.rsplit(":", 1) if ":" in kernel else ("kernel.py", kernel)
        self.grid, self.args, self.kwargs = grid, args, kwargs

    def tensors(self):
        found = {}
        for value in [*self.args, *self.kwargs.values()]:
            value = value.tensor if isinstance(value, Descriptor) else value
            if isinstance(value, Tensor):
                found[id(value)] = value
        return list(found.values())


class Unsupported:
    """A variant's word that a case is not for it."""

    def __init__(self, reason):
        self.reason = reason


class Builders:
    """The names that a spec uses without importing them."""

    def __init__(self):
        self.temporaries = None

    def make(self, *args, **kwargs):
        tensor = Tensor(*args, **kwargs)
        if self.temporaries is not None:
            self.temporaries.append(tensor)
        return tensor

    def names(self):
        make = self.make

        def randn(shape, dtype, mean=0, std=1, **place):
            return make(shape, dtype, lambda t, g: mean + std * g.standard_normal(t.shape), **place)

        def rand(shape, dtype, low=0, high=1, **place):
            return make(shape, dtype, lambda t, g: g.uniform(low, high, t.shape), **place)

        def randint(shape, low, high, dtype, **place):
            return make(shape, dtype, lambda t, g: g.integers(low, high, t.shape), **place)

        def full(shape, value, dtype, **place):
            return make(shape, dtype, lambda t, g: np.full(t.shape, value), **place)

        def zeros(shape, dtype, **place):
            return full(shape, 0, dtype, **place)

        def ones(shape, dtype, **place):
            return full(shape, 1, dtype, **place)

        def empty(shape, dtype, **place):
            return make(shape, dtype, lambda t, g: None, **place)

        def arange(n, dtype, **place):
            return make((n,), dtype, lambda t, g: np.arange(n), **place)

        def permutation(n, dtype, **place):
            return make((n,), dtype, lambda t, g: g.permutation(n), **place)

        def values(data, dtype, **place):
            array = np.array(data)
            return make(array.shape, dtype, lambda t, g: array, **place)

        def special(shape, dtype, **place):
            return make(shape, dtype, lambda t, g: np.resize(np.array(SPECIAL), t.shape), **place)

        def computed(shape, dtype, **place):
            tensor = empty(shape, dtype, **place)
            tensor.computed = True
            return tensor

        return dict(
            randn=randn, rand=rand, randint=randint, full=full, zeros=zeros, ones=ones, empty=empty,
            arange=arange, permutation=permutation, values=values, special=special, computed=computed,
            launch=lambda kernel, grid, *args, **kwargs: Launch(kernel, grid, args, kwargs),
            unsupported=Unsupported, descriptor=Descriptor, cdiv=lambda a, b: -(-a // b),
            next_power_of_2=lambda n: 1 << max(n - 1, 0).bit_length(), prod=math.prod,
            sqrt=math.sqrt, exp=math.exp, log=math.log, log2=math.log2, inf=math.inf, nan=math.nan,
            eps=lambda dtype: EPSILON[dtype], sizeof=lambda dtype: DTYPES[dtype].itemsize)


def uniform(seed, offset, word=0):
    """What `tl.rand4x(seed, offset)[word]` gives: ten rounds of Philox 4x32, scaled in f32."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    offset = np.asarray(offset, dtype=np.int64).astype(np.uint64)
    c0, c1 = offset & low, offset >> half
    c2, c3 = np.zeros_like(c0), np.zeros_like(c0)
    k0, k1 = int(seed) & 0xFFFFFFFF, (int(seed) >> 32) & 0xFFFFFFFF
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = (b >> half) ^ c1 ^ np.uint64(k0), b & low
        c2, c3 = (a >> half) ^ c3 ^ np.uint64(k1), a & low
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    bits = (c0, c1, c2, c3)[word].astype(np.uint32).view(np.int32)
    magnitude = np.where(bits < 0, -bits - 1, bits)
    return (magnitude.astype(np.float32) * np.float32(4.6566127342e-10)).astype(np.float64)


def installReferenceModule():
    module = types.ModuleType("nereid.reference")
    module.erf = np.vectorize(math.erf, otypes=[np.float64])
    module.uniform = uniform
    package = types.ModuleType("nereid")
    package.reference = module
    sys.modules["nereid"], sys.modules["nereid.reference"] = package, module


def bind(function, *scopes):
    """Calls `function` with what its parameters name, the first scope first."""
    chosen = {}
    for name, parameter in inspect.signature(function).parameters.items():
        scope = next((s for s in scopes if name in s), None)
        if scope is not None:
            chosen[name] = scope[name]
        elif parameter.default is parameter.empty:
            known = sorted({key for s in scopes for key in s})
            raise SpecError(f"`{function.__name__}` names `{name}`, which is none of {', '.join(known)}")
    return function(**chosen)


def loadPython(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    # A file may import its neighbours: `from kernel import helper`.
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
        for neighbour in path.parent.glob("*.py"):
            sys.modules.pop(neighbour.stem, None)
    return module


class Folder:
    def __init__(self, path):
        self.path = pathlib.Path(path).resolve()
        self.builders = Builders()
        given = self.builders.names()
        self.fields = {"__builtins__": {name: getattr(builtins, name) for name in ALLOWED}, **given}
        text = (self.path / "spec.py").read_text()
        exec(compile(text, str(self.path / "spec.py"), "exec"), self.fields)
        self.reference = loadPython(self.path / "reference.py", f"reference_{self.path.name}")
        self.files = {}

    def tasks(self):
        return self.fields.get("tasks") or {None: {}}

    def field(self, task, name, default=None):
        return self.tasks()[task].get(name, self.fields.get(name, default))

    def kernel(self, launch):
        if launch.file not in self.files:
            path = self.path / launch.file
            self.files[launch.file] = loadPython(path, f"kernels_{self.path.name}_{path.stem}")
        return getattr(self.files[launch.file], launch.kernel)

    def runReference(self, task, inputs, case):
        arrays = {k: v.exact() if isinstance(v, Tensor) else v for k, v in inputs.items()}
        with np.errstate(all="ignore"):
            return bind(getattr(self.reference, task or "reference"), arrays, case)

    def build(self, task, case, label):
        """Inputs with their data, and outputs without."""
        inputs = bind(self.field(task, "inputs"), case)
        for name, value in inputs.items():
            if isinstance(value, Tensor):
                value.allocate(zlib.crc32(f"{self.path.name}/{label}/{name}".encode()))
                if name == case.get("special"):
                    plantSpecial(value.data)
        waiting = {n: t for n, t in inputs.items() if isinstance(t, Tensor) and t.computed}
        if waiting:
            prepare = self.field(task, "prepare")
            if prepare not in self.tasks():
                raise SpecError(f"`computed` inputs need `prepare` to name a task, not {prepare!r}")
            results = self.runReference(prepare, inputs, case)
            for name, tensor in waiting.items():
                tensor.data.copy_(torch.from_numpy(np.array(results[name])).to(tensor.data.dtype))
        return inputs, bind(self.field(task, "outputs"), inputs, case)


def plantSpecial(data):
    """As support/HostTensor.h says."""
    smallest = {torch.float16: 2.0**-24, torch.bfloat16: 2.0**-133, torch.float32: 2.0**-149, torch.float64: 5e-324}.get(data.dtype, 2.0**-9)
    small = [0.0, -0.0, smallest, -smallest]
    if data.ndim < 2:
        for i in range(1, data.numel(), 2):
            data[i] = [*small, math.inf, -math.inf, math.nan][i // 2 % 7]
        return
    width = data.shape[-1]
    for row, at in enumerate(np.ndindex(*data.shape[:-1])):
        turn, line = row % 6, data[at]
        if turn == 1:
            line.copy_(torch.tensor(small).repeat(width // 4 + 1)[:width])
        for column, value in {2: [(width // 2, math.nan)], 3: [(width // 3, math.inf)], 4: [(width // 3, -math.inf)],
                              5: [(width // 3, math.inf), (width // 2, -math.inf)]}.get(turn, []) if width else []:
            line[column] = value


def labelOf(case):
    return case.get("label") or " ".join(f"{k}={v}" for k, v in case.items())


def hostValue(value):
    if isinstance(value, Tensor):
        return value.data
    if isinstance(value, Descriptor):
        from triton.tools.tensor_descriptor import TensorDescriptor
        tensor = value.tensor
        if 0 in tensor.shape:
            raise EmptyDescriptor
        return TensorDescriptor(tensor.data, list(tensor.shape), list(tensor.strides), value.block_shape)
    return value


def compare(got, want, rule, floating):
    """(passed, error, allowed) at the worst element."""
    got, want = np.asarray(got, dtype=np.float64), np.asarray(want, dtype=np.float64)
    if got.shape != want.shape:
        raise SpecError(f"reference has shape {want.shape}, output {got.shape}")
    if got.size == 0:
        return True, 0.0, 0.0
    with np.errstate(all="ignore"):
        allowed = rule["abs"] + rule["rel"] * np.abs(want) if floating else np.zeros_like(want)
        error = np.abs(got - want)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
    allowed = np.where(np.isfinite(allowed), allowed, 0.0)
    ratio = np.where(error == 0, 0.0, error / np.maximum(allowed, 1e-300))
    worst = np.unravel_index(np.argmax(ratio), ratio.shape)
    return bool(ratio[worst] <= 1), float(error[worst]), float(allowed[worst])


def plan(folder, variant, config, inputs, outputs, case):
    """The variant's launches and the temporaries that it made."""
    folder.builders.temporaries = []
    try:
        return bind(variant["run"], config, outputs, inputs, case), folder.builders.temporaries
    finally:
        folder.builders.temporaries = None


class Sm90Driver:
    """Lets Triton compile for a chip that this machine need not have."""

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget
        return GPUTarget("cuda", 90, 32)


DUMP = None
SHORT = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "f8e4nv": "fp8e4nv", "f8e5": "fp8e5"}


def signatureOf(folder, launch):
    """The launch's signature as `nereid compile` takes it."""
    from corpus_tools import typeText
    function = folder.kernel(launch).fn
    signature = inspect.signature(function)
    kwargs = {k: v for k, v in launch.kwargs.items() if k in signature.parameters}
    bound = signature.bind(*launch.args, **kwargs)
    bound.apply_defaults()
    words = []
    for name, value in bound.arguments.items():
        if "constexpr" in str(signature.parameters[name].annotation):
            fact = dict(kind="constexpr", value=value)
        elif value is None:
            fact = dict(kind="none")
        elif isinstance(value, Descriptor):
            fact = dict(kind="descriptor", dtype=SHORT.get(value.tensor.dtype, value.tensor.dtype), block_shape=value.block_shape)
        elif isinstance(value, Tensor):
            aligned = value.offset * value.element_size() % 16 == 0
            fact = dict(kind="pointer", dtype=SHORT.get(value.dtype, value.dtype), aligned=aligned)
        elif isinstance(value, int):
            fact = dict(kind="int", type="i32" if -(1 << 31) <= value < 1 << 31 else "i64", value=value)
        else:
            fact = dict(kind="float")
        words.append(typeText(fact))
    return ", ".join(words)


def showSignatures(folder, task, variant, seen):
    for case in folder.field(task, "cases", []) + folder.field(task, "demo", []):
        inputs = bind(folder.field(task, "inputs"), case)
        outputs = bind(folder.field(task, "outputs"), inputs, case)
        launches, _ = plan(folder, variant, (variant.get("configs") or [{}])[0], inputs, outputs, case)
        for launch in [] if isinstance(launches, Unsupported) else launches:
            line = f"{(folder.path / launch.file).relative_to(pathlib.Path.cwd())}:{launch.kernel}\t{signatureOf(folder, launch)}"
            if line not in seen:
                seen.add(line)
                print(line)


def place(folder, task, variant, config, case):
    """The tensors of a case and the launches of a variant; `Unsupported` in place of launches that are not for it."""
    inputs, outputs = folder.build(task, case, labelOf(case))
    launches, temporaries = plan(folder, variant, config, inputs, outputs, case)
    if not isinstance(launches, Unsupported):
        for i, tensor in enumerate([*outputs.values(), *temporaries]):
            tensor.allocate(i)
    return inputs, outputs, launches


def compileCase(folder, task, variant, config, case):
    _, _, launches = place(folder, task, variant, config, case)
    if isinstance(launches, Unsupported):
        return "skipped", launches.reason, []
    figures = []
    for launch in launches:
        kwargs = {k: hostValue(v) for k, v in launch.kwargs.items()}
        compiled = folder.kernel(launch).run(*map(hostValue, launch.args), grid=launch.grid, warmup=True, **kwargs)
        figures.append(f"{launch.kernel} {len(compiled.asm['ptx'])} B of PTX")
        if DUMP:
            path = pathlib.Path(DUMP) / f"{folder.path.name}-{launch.kernel}.ttir"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(compiled.asm["ttir"])
    return "passed", ", ".join(figures), launches


def runCase(folder, task, variant, config, case):
    inputs, outputs, launches = place(folder, task, variant, config, case)
    if isinstance(launches, Unsupported):
        return "skipped", launches.reason, []
    for launch in launches:
        if 0 not in launch.grid:
            kwargs = {k: hostValue(v) for k, v in launch.kwargs.items()}
            folder.kernel(launch)[launch.grid](*map(hostValue, launch.args), **kwargs)
    tolerance = bind(folder.field(task, "tolerance"), config, outputs, inputs, case)
    passed, figures = True, []
    for output, want in folder.runReference(task, inputs, case).items():
        if output in outputs:
            tensor = outputs[output]
            rule = tolerance if "rel" in tolerance else tolerance[output]
            good, error, allowed = compare(tensor.exact(), want, rule, tensor.dtype in EPSILON)
            passed &= good
            figures.append(f"{output} {error:.2g}/{allowed:.2g}")
    doubtful = case.get("dtype") == "bf16"
    return "passed" if passed else "doubtful" if doubtful else "FAILED", ", ".join(figures), launches


def showPlans(folder, task, name, variant):
    """Evaluates the timed cases, which are too large to run here."""
    for case in folder.field(task, "bench", []) + folder.field(task, "demo", []):
        inputs = bind(folder.field(task, "inputs"), case)
        outputs = bind(folder.field(task, "outputs"), inputs, case)
        for config in variant.get("configs") or [{}]:
            launches, temporaries = plan(folder, variant, config, inputs, outputs, case)
            if isinstance(launches, Unsupported):
                continue
            for launch in launches:
                folder.kernel(launch)
        scopes = (outputs, inputs, case)
        if isinstance(launches, Unsupported):
            continue
        moved = bind(variant["bytes"], *scopes) if "bytes" in variant else sum(
            tensor.nbytes for launch in launches for tensor in launch.tensors())
        flops = folder.field(task, "flops")
        print(f"plan     {folder.path.name:18} {name:22} {labelOf(case):44} {len(launches)} launches, {moved:.3g} bytes moved, "
              f"{sum(t.nbytes for t in temporaries):.3g} bytes of temporaries, {bind(flops, *scopes) if flops else 0:.3g} operations")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--case", default="", help="only cases whose label contains this")
    parser.add_argument("--cases", type=int, default=0, help="at most this many of each variant")
    parser.add_argument("--variant", default="", help="only variants whose name contains this")
    parser.add_argument("--all-configs", action="store_true", help="run every configuration, not only the first")
    parser.add_argument("--plan", action="store_true", help="also evaluate the plans of `bench` and `demo`")
    parser.add_argument("--compile", action="store_true", help="compile each launch of the cases with Triton instead of running it")
    parser.add_argument("--signatures", action="store_true", help="print each different launch instead of running it")
    parser.add_argument("--dump", help="with --compile: a folder for the last Triton IR of each kernel, to compare by eye")
    options = parser.parse_args()
    global DUMP
    DUMP = options.dump
    if COMPILE:
        import triton
        triton.runtime.driver.set_active(Sm90Driver())
    installReferenceModule()
    seen = set()
    count = dict(passed=0, FAILED=0, doubtful=0, skipped=0)
    for path in options.folders:
        folder = Folder(path)
        for task in folder.tasks():
            for name, variant in folder.field(task, "variants").items():
                name = f"{task}.{name}" if task else name
                if options.variant not in name:
                    continue
                variant = variant if isinstance(variant, dict) else dict(run=variant)
                if options.signatures:
                    showSignatures(folder, task, variant, seen)
                    continue
                configs = variant.get("configs") or [{}]
                cases = [case for case in folder.field(task, "cases", []) if options.case in labelOf(case)]
                for case in cases[::max(1, -(-len(cases) // options.cases))] if options.cases else cases:
                    for config in configs if options.all_configs else configs[:1]:
                        start = time.time()
                        try:
                            status, figures, launches = (compileCase if COMPILE else runCase)(folder, task, variant, config, case)
                        except EmptyDescriptor as error:
                            status, figures, launches = "skipped", error.__doc__, []
                        except Exception as error:
                            if not type(error).__module__.startswith("triton"):
                                raise
                            status, figures, launches = "FAILED", f"{type(error).__name__}: {error}", []
                        count[status] += 1
                        shown = labelOf(case) + (f" {config}" if options.all_configs else "")
                        print(f"{status:8} {folder.path.name:18} {name:22} {shown:44} {figures} "
                              f"({len(launches)} launches, {time.time() - start:.1f} s)", flush=True)
                if options.plan:
                    showPlans(folder, task, name, variant)
    if options.signatures:
        return 0
    print(f"{count['passed']} passed, {count['FAILED']} failed, {count['doubtful']} doubtful, {count['skipped']} skipped")
    return 1 if count["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
