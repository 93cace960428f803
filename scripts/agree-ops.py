#!/usr/bin/env python3
"""Operations by dtype under Triton's own interpreter and under the engine: what type, what numbers.

    scripts/agree-ops.py [--bin build/dev/bin] [--python PYTHON] [--only TEXT] [--device cuda:0] [--results docs/results/NAME.json]

For each dtype, or pair of them, a kernel applies every operation of OPERATIONS to all pairs of the
dtype's edge values. The interpreter says which operations it takes and the types of their results; the engine must
take the same, find the same types (a `static_assert` in the kernel) and give the same numbers on `ref` and on `cpu`, or on each --device.
Where Triton leaves the result open the operands are kept away from there (`operands`). PYTHON has torch, triton and
numpy below 2.4. bf16 and f8 are left out: they have no .npy form, and the interpreter computes on their bit patterns.

The last line is JSON: {"passed", "failed", "skipped", "failures"}.
"""
import argparse
import collections
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

from agree import DTYPES, ROOT, Driver, complaint

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = ["f16", "f32", "f64"]
NUMBERS = INTS + FLOATS
ALL = ["i1", *NUMBERS]
LONG = {"i1": "int1", **{name: name.replace("i", "int") if name[0] == "i" else name.replace("u", "uint") for name in INTS},
        "f16": "float16", "f32": "float32", "f64": "float64"}
SHORT = {"int1": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
         "uint64": "u64", "fp16": "f16", "fp32": "f32", "fp64": "f64"}
SIDE = 16  # A tile is SIDE x SIDE: each value of the first operand with each of the second.

HELPERS = """
@triton.jit
def total(a, b):
    return a + b


@triton.jit
def affine(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def larger(a, i, b, j):
    first = (a > b) | ((a == b) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)

"""


def group(dtypes, *expressions, pairs=False, within=None, keep=""):
    """Operations over the same dtypes. `within`: relative bound of floats by dtype, exact without. `keep`: see `operands`."""
    return [(expression, dtypes, pairs, within, keep) for expression in expressions]


# One rounding of the widest type that the two may compute in; functions of libm and libdevice differ by a few.
ROUNDING = {"f16": 2.0**-10, "f32": 2.0**-22, "f64": 2.0**-51}
FEW = {"f16": 2.0**-10, "f32": 2.0**-20, "f64": 2.0**-48}
# Sums of 16 to 256 terms whose magnitudes are near 1, so that an absolute bound would say the same.
SUM = {"f16": 2.0**-7, "f32": 2.0**-19, "f64": 2.0**-48}

OPERATIONS = [
    *group(NUMBERS, "a + b", "a - b", "a * b", pairs=True),
    *group(ALL, "a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b", "tl.where(i % 3 == 0, a, b)", pairs=True),
    *group(NUMBERS, "a / b", pairs=True, within=ROUNDING),
    *group(INTS, "a // b", "a % b", "tl.cdiv(a, b)", pairs=True, keep="divisor"),
    *group(FLOATS, "a % b", pairs=True, keep="divisor", within=ROUNDING),
    *group(ALL[:9], "a & b", "a | b", "a ^ b", pairs=True),
    *group(INTS, "a << b", "a >> b", pairs=True, keep="shift"),
    *group(NUMBERS, "tl.maximum(a, b)", "tl.minimum(a, b)", pairs=True, keep="ordered"),
    *group(NUMBERS, "a + 1", "2 - a", "a * 3", "1 + a", "-a", "tl.abs(a)"),
    *group(FLOATS, "a + 1.5", "a * 0.1", "a / 3", "tl.fma(a, b, a)", within=ROUNDING),
    *group(INTS, "a * 0.5", "a / 3", within=ROUNDING),
    *group(INTS, "a // 3", "a % 3", "~a", "a & 5", "a | 8", "a ^ 6", "a << 1", "a >> 1", "tl.cdiv(a, 4)"),
    *group(["i1"], "~a", "a & b", "a | b", "a ^ b", "a.to(tl.int32) + b"),
    *group(["i32", "u32", "i64", "u64"], "tl.umulhi(a, b)"),
    *group(ALL, *[f"a.to(tl.{LONG[to]})" for to in ALL], keep="integral"),
    *group(["i8", "u8"], "a.to(tl.uint8, bitcast=True)", "a.to(tl.int8, bitcast=True)"),
    *group(["i16", "u16", "f16"], "a.to(tl.float16, bitcast=True)", "a.to(tl.int16, bitcast=True)"),
    *group(["i32", "u32", "f32"], "a.to(tl.float32, bitcast=True)", "a.to(tl.int32, bitcast=True)"),
    *group(["i64", "u64", "f64"], "a.to(tl.float64, bitcast=True)", "a.to(tl.int64, bitcast=True)"),
    *group(FLOATS, "tl.floor(a)", "tl.ceil(a)"),
    *group(["f32", "f64"], "tl.sqrt(tl.abs(a))", "tl.rsqrt(tl.abs(a) + 1)", "tl.exp(a)", "tl.exp2(a)", "tl.log(tl.abs(a) + 1)", "tl.log2(tl.abs(a) + 1)",
           "tl.sin(a)", "tl.cos(a)", "tl.erf(a)", "tl.sigmoid(a)", "tl.math.tanh(a)", within=FEW, keep="small"),
    *group(["f32"], "tl.sqrt_rn(tl.abs(a))", "tl.div_rn(a, b)", "tl.fdiv(a, b)", within=ROUNDING),
    *group(NUMBERS, "tl.clamp(a, tl.minimum(a, b), tl.maximum(a, b))", keep="ordered"),
    *group(INTS, "tl.sum(m, 0)", "tl.sum(m, 1)", "tl.sum(m)", "tl.sum(m, 1, keep_dims=True)", "tl.xor_sum(m, 1)", "tl.cumsum(m, 0)", "tl.cumsum(m, 1)",
           "tl.cumsum(m, 1, reverse=True)", "tl.cumprod(m, 1)", "tl.reduce(m, 0, total)", "tl.associative_scan(m, 1, total)", "tl.reduce_or(m, 0)"),
    *group(["i1"], "tl.sum(m, 0)", "tl.sum(m)", "tl.max(m, 1)", "tl.reduce_or(m, 1)", "tl.xor_sum(m, 0)"),
    *group(FLOATS, "tl.sum(m, 0)", "tl.sum(m, 1)", "tl.sum(m)", "tl.cumsum(m, 0)", "tl.cumsum(m, 1)", "tl.cumsum(m, 1, reverse=True)", "tl.reduce(m, 1, total)",
           "tl.associative_scan(m, 0, total)", "tl.softmax(m)", within=SUM, keep="small"),
    *group(NUMBERS, "tl.max(m, 0)", "tl.max(m, 1)", "tl.min(m, 0)", "tl.min(m)", "tl.argmax(m, 0)", "tl.argmax(m, 1)", "tl.argmin(m, 0)", "tl.argmin(m, 1)",
           "tl.max(m, 1, return_indices=True)[0]", "tl.max(m, 1, return_indices=True)[1]", "tl.min(m, 0, return_indices=True)[1]",
           "tl.sort(m)", "tl.sort(m, descending=True)", "tl.topk(m, 4)", "tl.flip(m, 1)", keep="ordered"),
    *group(["i32", "f32"], "tl.reduce((m, j), 1, larger)[0]", "tl.reduce((m, j), 1, larger)[1]", "tl.associative_scan((m, m), 1, affine)[1]",
           within=SUM, keep="small"),
    *group(ALL, "tl.trans(m)", "tl.join(a, b)", "tl.interleave(a, b)", "tl.reshape(m, (8, 32))", "tl.permute(tl.join(m, m), (2, 0, 1))",
           "tl.broadcast_to(a[:, None], (256, 2))", "tl.split(tl.reshape(a, (128, 2)))[1]", "tl.gather(m, (j + 3) % 16, 1)", "tl.gather(m, (j * 5) % 16, 0)",
           "tl.zeros_like(m)", "tl.full((16,), 1, a.dtype)", "tl.cat(a, b, can_reorder=True)"),
    *group(["i32", "i64"], "tl.histogram(tl.abs(a % 16).to(tl.int32), 16)"),
    *group(["i8"], "tl.dot(tl.interleave(m, m), tl.trans(tl.interleave(m, m)))"),
    *group(["f16", "f32", "f64"], "tl.dot(m, tl.trans(m), input_precision='ieee')", within=SUM, keep="small"),
    *group(["f16"], "tl.dot(m, tl.trans(m), out_dtype=tl.float16)", "tl.dot(m, m, acc=tl.full((16, 16), 1.5, tl.float32))", within=SUM, keep="small"),
    *group(["i32", "i64", "u32", "u64"], "tl.atomic_add(x + i, b)", "tl.atomic_max(x + i, b)", "tl.atomic_min(x + i, b)", "tl.atomic_and(x + i, b)",
           "tl.atomic_or(x + i, b)", "tl.atomic_xor(x + i, b)", "tl.atomic_xchg(x + i, b)", "tl.atomic_cas(x + i, a, b)",
           "tl.atomic_add(x + i, b, mask=i % 2 == 0) * (i % 2 == 0)"),
    *group(["f32", "f64"], "tl.atomic_add(x + i, b)", "tl.atomic_max(x + i, b)", "tl.atomic_min(x + i, b)", "tl.atomic_xchg(x + i, b)", keep="ordered"),
    *group(["f16"], "tl.atomic_add(x + i, b)", keep="small"),
    *group(["i32", "u32"], "tl.randint(a, i)", "tl.rand(a, i)", "tl.randn(7, a)", within=FEW),
]

# Where Triton's interpreter is no authority: (expression, dtypes or None for all of them) -> why.
WRONG = {
    ("tl.umulhi(a, b)", ("i32",)): "`tl.umulhi` is unsigned in compiled Triton; its interpreter multiplies as signed",
    ("tl.atomic_min(x + i, b)", ("f64",)): "Triton's `atomic_min` on f64 returns the number's bits as an integer",
}


def edgeValues(numpy, dtype):
    if dtype == "i1":
        return numpy.array([0, 1] * 8, dtype="bool")
    if dtype[0] == "f":
        return numpy.array([0.0, -0.0, 1, -1, 1.5, -2.5, 0.3, 1e-3, 100.25, numpy.nan, numpy.inf, -numpy.inf, 60000, 6e-8, -3, 7.75], dtype=DTYPES[dtype])
    bits = int(dtype[1:])
    signed = [-1, -2, -7, -(2**(bits - 1))] if dtype[0] == "i" else [2**(bits - 1), 2**(bits - 1) + 1, 9, 2**bits - 1]
    high = 2**(bits - 1) - 1
    return numpy.array([value % 2**bits for value in [0, 1, 2, 3, 5, 7, 10, 100, high, high - 1, high // 3, 64, *signed]],
                       dtype="uint64").astype(f"uint{bits}").view(DTYPES[dtype])


def operands(numpy, first, second, keep):
    """All pairs of edge values, without those for which Triton promises nothing."""
    a, b = numpy.repeat(edgeValues(numpy, first), SIDE), numpy.tile(edgeValues(numpy, second), SIDE)
    if keep == "divisor":
        b[b == 0] = 3
        # The one quotient that does not fit, after promotion to the wider type.
        b[b == numpy.array(-1).astype(b.dtype)] = 5
        if first[0] == "f":
            a, b = numpy.nan_to_num(a, nan=2, posinf=3, neginf=-4), numpy.nan_to_num(b, nan=2, posinf=3, neginf=-4)
    elif keep == "shift":
        b = (numpy.arange(SIDE * SIDE) % min(int(first[1:]), int(second[1:]))).astype(b.dtype)
    elif keep == "ordered":
        a, b = [numpy.where(numpy.isnan(v), v.dtype.type(1), v) if v.dtype.kind == "f" else v for v in (a, b)]
        # Which of two zeros is the larger is open.
        a, b = [numpy.where(v == 0, v.dtype.type(2), v) if v.dtype.kind == "f" else v for v in (a, b)]
    elif keep == "integral" and first[0] == "f":
        a = numpy.clip(numpy.nan_to_num(a, nan=1, posinf=100, neginf=1), 0, 100)
    elif keep == "small" and first[0] == "f":
        a, b = [(numpy.arange(SIDE * SIDE) * step % 61 / 16 - 1.5).astype(DTYPES[first]) for step in (7, 11)]
    elif keep == "small":
        a, b = a % 7, b % 5
    return a.astype(DTYPES[first]), b.astype(DTYPES[second])


def source(operations, types):
    """A kernel that stores every operation's result: types are those of the results, or None to ask for one."""
    names = [f"o{n}" for n in range(len(operations))]
    lines = ["import triton", "import triton.language as tl", "", "SEEN = []", "", HELPERS, "@triton.jit", f"def apply(x, y, {', '.join(names)}):",
             f"    i = tl.arange(0, {SIDE * SIDE})", "    a = tl.load(x + i)", "    b = tl.load(y + i)", f"    m = tl.reshape(a, ({SIDE}, {SIDE}))",
             f"    j = tl.broadcast_to(tl.arange(0, {SIDE})[None, :], ({SIDE}, {SIDE}))"]
    for name, expression, result in zip(names, operations, types or [None] * len(names)):
        lines.append(f"    {name}_value = {expression}")
        if result is None:
            lines += [f"    SEEN.append(({name}_value.dtype, [int(n) for n in {name}_value.shape]))"]
            continue
        dtype, shape = result
        lines.append(f"    tl.static_assert({name}_value.dtype == tl.{LONG[dtype]}, '{name} is not {dtype}')")
        count = 1
        for n in shape:
            count *= n
        if shape:
            lines.append(f"    tl.store({name} + tl.arange(0, {count}), tl.reshape({name}_value, ({count},)))")
        else:
            lines.append(f"    tl.store({name}, {name}_value)")
    return "\n".join(lines) + "\n"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Case:
    """The operations that two dtypes share, with the same operands."""

    def __init__(self, first, second, keep):
        self.first, self.second, self.keep = first, second, keep
        self.operations = []  # (expression, within)

    def label(self, expression):
        return f"{expression} on {self.first}" + (f" and {self.second}" if self.second != self.first else "")


def allCases():
    cases = {}
    for expression, dtypes, pairs, within, keep in OPERATIONS:
        for first in dtypes:
            for second in dtypes if pairs else [first]:
                # Each atomic changes `x`: alone in its kernel.
                key = first, second, keep, expression if "atomic" in expression else ""
                cases.setdefault(key, Case(first, second, keep)).operations.append((expression, within))
    return list(cases.values())


def rootCause(error):
    while error.__cause__:
        error = error.__cause__
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"


def plain(why):
    """A refusal without the types in it, so that equal ones count together."""
    why = re.sub(r"with triton\.language\.\w+ and triton\.language\.\w+ because.*", "with operands of different signedness", why)
    return re.sub(r"\b(triton\.language\.)?u?(int|fp)\d+\b", r"\2", why)


class Runner:
    def __init__(self, options, numpy, folder):
        import torch
        self.options, self.numpy, self.torch, self.folder = options, numpy, torch, folder
        self.count = 0

    def write(self, operations, types):
        self.count += 1
        path = self.folder / f"case{self.count}.py"
        path.write_text(source(operations, types))
        return path

    def interpret(self, expression, a, b):
        """((dtype, shape), results) of the interpreter; raises what it raises."""
        torch = self.torch
        module = load(self.write([expression], None))
        tensors = [torch.from_numpy(v.copy()) for v in (a, b)]
        module.apply[(1,)](*tensors, torch.zeros(1))
        dtype, shape = module.SEEN[0]
        result = SHORT.get(str(dtype)), shape
        if result[0] is None:
            raise TypeError(f"the result is {dtype}")
        module = load(self.write([expression], [result]))
        tensors = [torch.from_numpy(v.copy()) for v in (a, b)]
        out = torch.from_numpy(self.numpy.zeros(shape or (1,), DTYPES[result[0]]))
        module.apply[(1,)](*tensors, out)
        return result, [out.numpy(), tensors[0].numpy()]

    def engine(self, expressions, types, a, b, device):
        """Results of the engine: a list for each expression, or why not."""
        path = self.write(expressions, types)
        words = [self.options.bin / "nereid", "run", f"{path}:apply", "--device", device]
        arrays = {"x": a, "y": b}
        for n, (dtype, shape) in enumerate(types):
            arrays[f"o{n}"] = self.numpy.zeros(shape or (1,), DTYPES[dtype])
        for name, array in arrays.items():
            self.numpy.save(self.folder / f"{name}.npy", array)
            words += ["--arg", f"{name}={self.folder / name}.npy"]
            if name != "y":
                words += ["--save", f"{name}={self.folder / name}.{device}.npy"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=self.options.limit, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return None, "time-out"
        if done.returncode != 0:
            return None, complaint(done.stderr)
        x = self.numpy.load(self.folder / f"x.{device}.npy")
        return [[self.numpy.load(self.folder / f"o{n}.{device}.npy"), x] for n in range(len(types))], None

    def differs(self, want, got, within, a, b):
        numpy = self.numpy
        for name, w, g in zip(("the result", "`x`"), want, got):
            w, g = w.ravel(), g.ravel()
            if w.dtype != g.dtype or w.shape != g.shape:
                return f"{name} is {g.dtype}{list(g.shape)}, not {w.dtype}{list(w.shape)}"
            same = w == g
            if w.dtype.kind == "f":
                wide, other = w.astype("float64"), g.astype("float64")
                bound = (within or {}).get(SHORT_OF[str(w.dtype)], 0)
                scale = numpy.maximum(numpy.abs(wide), numpy.finfo(w.dtype).tiny)
                with numpy.errstate(all="ignore"):
                    same = same | numpy.isnan(w) & numpy.isnan(g) | numpy.isfinite(wide) & numpy.isfinite(other) & (numpy.abs(wide - other) <= bound * scale)
            if not same.all():
                at = int(numpy.flatnonzero(~same)[0])
                operand = f" (a = {a[at]}, b = {b[at]})" if len(w) == len(a) else ""
                return f"{name} differs in {int((~same).sum())} of {len(w)} elements, first at {at}{operand}: {g[at]}, Triton's interpreter has {w[at]}"
        return None

    def run(self, case):
        """Yields (expression, status, why)."""
        a, b = operands(self.numpy, case.first, case.second, case.keep)
        taken = []
        for expression, within in case.operations:
            if self.options.only not in case.label(expression):
                continue
            reason = next((why for (text, dtypes), why in WRONG.items()
                           if text == expression and (dtypes is None or case.first in dtypes or case.second in dtypes)), None)
            if reason:
                yield expression, "skipped", reason
                continue
            try:
                with warnings.catch_warnings(), self.numpy.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    taken.append((expression, within, *self.interpret(expression, a, b)))
            except Exception as error:
                yield expression, "triton", rootCause(error)
        if not taken:
            return
        # All at once; one by one where the engine refuses one of them.
        batches = [taken]
        while batches:
            batch = batches.pop()
            results, why = {}, None
            for device in self.options.device or ("ref", "cpu"):
                results[device], why = self.engine([t[0] for t in batch], [t[2] for t in batch], a, b, device)
                if why:
                    why = f"{device}: {why}"
                    break
            if why and len(batch) > 1:
                batches += [[one] for one in batch]
                continue
            for n, (expression, within, _, want) in enumerate(batch):
                if why:
                    yield expression, "nereid", why
                    continue
                failures = [(device, self.differs(want, results[device][n], within, a, b)) for device in results]
                failures = [f"{device}: {text}" for device, text in failures if text]
                yield expression, "differs" if failures else "agreed", "; ".join(failures)


SHORT_OF = {long: short for short, long in DTYPES.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "dev" / "bin")
    parser.add_argument("--python", help="a Python with torch, triton and numpy below 2.4 (default: this one)")
    parser.add_argument("--only", default="", help="only operations whose label (`a + b on i8 and u8`) contains this")
    parser.add_argument("--device", action="append", help="instead of ref and cpu; may be given more than once")
    parser.add_argument("--limit", type=float, default=120, help="seconds a run (default 120)")
    parser.add_argument("--results", help="where to write the counts as docs/results/README.md says")
    parser.add_argument("--version", default="", help="of Triton, for --results")
    options = parser.parse_args()
    if options.python and os.path.realpath(options.python) != os.path.realpath(sys.executable):
        at = sys.argv.index("--python")
        return subprocess.run([options.python, __file__, *sys.argv[1:at], *sys.argv[at + 2:]]).returncode
    os.environ["TRITON_INTERPRET"] = "1"
    import numpy
    import triton
    triton.runtime.driver.set_active(Driver())
    options.bin = options.bin.resolve()
    result = dict(passed=0, failed=0, skipped=0, failures=[])
    misses, statuses = {}, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, numpy, pathlib.Path(folder))
        for case in allCases():
            for expression, status, why in runner.run(case):
                label = case.label(expression)
                statuses[status] += 1
                kind = "passed" if status == "agreed" else "failed" if status in ("differs", "nereid") else "skipped"
                result[kind] += 1
                if kind != "passed":
                    print(f"{status:8} {label}  {why}", flush=True)
                    reason = f"Triton's interpreter refuses: {plain(why)}" if status == "triton" else why
                    misses.setdefault(reason, dict(reason=reason, count=0, example=label))["count"] += 1
                if kind == "failed":
                    result["failures"].append(f"{label}: {why}")
    if options.results:
        ran = statuses["agreed"] + statuses["differs"]
        pathlib.Path(options.results).write_text(json.dumps(dict(
            package="operations by dtype", version=options.version, against="TRITON_INTERPRET=1", files=1, kernels=sum(statuses.values()), emitted=ran,
            ran=ran, agreed=result["passed"], misses=sorted(misses.values(), key=lambda miss: -miss["count"])), indent=1) + "\n")
    print(json.dumps(result))
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
