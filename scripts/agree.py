#!/usr/bin/env python3
"""Runs kernel files under Triton's own interpreter and under the engine, with the same inputs, and compares.

    scripts/agree.py [--bin build/dev/bin] [--python PYTHON] [--only TEXT] [--tutorials DIR]
                     [--results docs/results/NAME.json]

What is run: every `# expect:` line of test/run, and with --tutorials the kernels of Triton's tutorials 1 to 6
(their files are in its public repository). PYTHON has torch, triton and numpy below 2.4; the engine runs on
`ref` and on `cpu`, where `# run:` has them. Inputs and results pass as .npy, so bf16 and f8 are left out: Triton's interpreter computes
on their bit patterns in any case. Integers must be equal, floats within --within of the largest magnitude.

The last line is JSON: {"passed", "failed", "skipped", "failures"}.
"""
import argparse
import ast
import json
import math
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DTYPES = {"i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
          "u64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64"}
# Where Triton's interpreter is no authority, by kernel of test/run.
WRONG = {
    "edges": "integer division by zero is undefined in Triton; its interpreter gives what NumPy gives",
    "logic": "Triton refuses `and`, `or`, `not` on integers; its interpreter computes on their bits",
    "modelled": "which configuration of an autotuned kernel runs is not compared",
    "one_is_known": "its interpreter does not specialise on the value 1",
    "propagate": "its interpreter ignores `propagate_nan`",
    "round_trip": "its interpreter computes on the bit patterns of bf16",
    "saturate": "its interpreter does not saturate conversions to f8",
    "tuned": "which configuration of an autotuned kernel runs is not compared",
    "wide": "its interpreter refuses: `int` object has no attribute `dtype`",
    "zero_extend": "a documented difference: Triton wraps `pointer - u32` in 32 bits",
}


# --- under Triton's interpreter: a process of its own ------------------------------------------------------

class Driver:
    """What module-level code asks of a GPU; nothing runs on it."""

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget
        return GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self):
        import torch
        return torch.device("cpu")

    def get_benchmarker(self):
        return None


def interpret(job):
    """Loads the file as it is, launches the kernel on copies of the inputs, saves every tensor."""
    import linecache
    import numpy
    import torch
    import triton

    path = job["file"]
    scope = {"__name__": "kernels", "__file__": path}
    sys.path[0] = os.path.dirname(path)
    linecache.checkcache(path)
    for statement in ast.parse(pathlib.Path(path).read_text()).body:
        # As the engine does: a statement that fails, a launch on a GPU say, does not stop the module.
        try:
            exec(compile(ast.Module([statement], []), path, "exec"), scope)
        except Exception as error:
            print(f"{path}:{statement.lineno}: {type(error).__name__}: {error}", file=sys.stderr)
    kernel = scope[job["kernel"]]
    while isinstance(kernel, (triton.runtime.Autotuner, triton.runtime.Heuristics)):
        kernel = kernel.fn
    tensors = {name: torch.from_numpy(numpy.load(npy)) for name, npy in job["tensors"].items()}
    values = {name: eval(text, {"tl": triton.language, "nan": math.nan, "inf": math.inf, **scope}) for name, text in job["values"].items()}
    kernel[tuple(job["grid"])](**tensors, **values)
    for name, tensor in tensors.items():
        numpy.save(job["out"][name], tensor.numpy())


def serve():
    """One job a line of stdin, one answer a line of stdout: null, or why there is no result."""
    os.environ["TRITON_INTERPRET"] = "1"
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What kernels print.
    import torch
    import triton
    triton.runtime.driver.set_active(Driver())
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    for line in sys.stdin:
        try:
            interpret(json.loads(line))
            why = None
        except Exception as error:
            # What an operation of the language raises is the cause; the frames around it only say where.
            while error.__cause__:
                error = error.__cause__
            why = f"{type(error).__name__}: {str(error).strip().splitlines()[-1] if str(error).strip() else ''}"
        print(json.dumps(why), file=answers, flush=True)


class Interpreter:
    """The process with Triton; started again after a time-out or a crash."""

    def __init__(self, python, limit):
        self.python, self.limit, self.process = python, limit, None

    def run(self, job):
        if self.process is None:
            # Module-level code may write files: into a folder that goes away.
            self.folder = tempfile.TemporaryDirectory()
            self.process = subprocess.Popen([self.python, str(pathlib.Path(__file__).resolve()), "--serve"], cwd=self.folder.name, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True)
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], self.limit)
        answer = self.process.stdout.readline() if ready else ""
        if not answer:
            self.close()
            return "crash" if ready else "time-out"
        return json.loads(answer)

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
            self.folder.cleanup()


# --- the cases ---------------------------------------------------------------------------------------------

class Skip(Exception):
    pass


def split(text):
    """The parts of `a=[1, 2]:i8, b=f(x, y)` between the outer commas."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in parts + [text[start:]] if part.strip()]


def tensorOf(text, numpy):
    """The array that `nereid run --arg NAME=text` makes, or None if it is no tensor."""
    made = re.fullmatch(r"(zeros|iota|full)\(([\dx]+)((?:,[^,]*)*)\)", text)
    listed = re.fullmatch(r"(\[.*\]):(\w+)", text)
    if not made and not listed:
        return None
    rest = [word.strip() for word in made[3].split(",") if word.strip()] if made else []
    dtype = listed[2] if listed else rest[-1] if rest and rest[-1] in set(DTYPES) | {"bf16", "f8e4nv", "f8e5"} else "f32"
    if dtype not in DTYPES:
        raise Skip(f"{dtype} has no .npy form, and Triton's interpreter computes on its bit patterns")
    if listed:
        return numpy.array(eval(listed[1], {"nan": math.nan, "inf": math.inf, "range": range}), dtype=DTYPES[dtype])
    shape = tuple(int(n) for n in made[2].split("x"))
    if made[1] == "iota":
        return numpy.arange(math.prod(shape)).astype(DTYPES[dtype]).reshape(shape)
    return numpy.full(shape, 0 if made[1] == "zeros" else ast.literal_eval(rest[0]), dtype=DTYPES[dtype])


def expectCases(numpy):
    """(name, file, kernel, grid, {tensor: array}, {name: text} of the others, devices) or (name, why it is skipped)."""
    for path in sorted((ROOT / "test" / "run").glob("*.py")):
        text = re.sub(r"\n#     +", " ", path.read_text())
        devices = re.search(r"^# run:(.*)", text, re.M)[1].split()
        for line in re.findall(r"^# expect: (.*)$", text, re.M):
            found = re.match(r"(\w+)(?:\[(.*?)\])?\((.*?)\) ->(.*)", line)
            if not found:
                continue
            name = f"{path.name}:{found[1]}({found[3]})"
            if "fails" in found[4] or "prints" in found[4]:
                yield name, "expects a diagnostic or printed text, not numbers"
                continue
            tensors, values = {}, {}
            try:
                for part in split(found[3]):
                    key, _, value = part.partition("=")
                    array = tensorOf(value.strip(), numpy)
                    if array is None:
                        values[key.strip()] = value.strip()
                    else:
                        tensors[key.strip()] = array
                grid = [int(eval(word)) for word in split(found[2] or "1")]
            except Skip as why:
                yield name, str(why)
                continue
            yield name, path, found[1], grid, tensors, values, [device for device in ("ref", "cpu") if device in devices]


def tutorialCases(folder, numpy):
    random = numpy.random.default_rng(0)

    def normal(*shape, dtype="float32"):
        return random.standard_normal(shape).astype(dtype)

    def zeros(*shape, dtype="float32"):
        return numpy.zeros(shape, dtype)

    def case(file, kernel, grid, tensors, **values):
        path = folder / file
        name = f"{file}:{kernel}"
        return (name, path, kernel, grid, tensors, {key: repr(value) for key, value in values.items()}, ["ref", "cpu"]) if path.exists() else (name, "there is no such file")

    yield case("01-vector-add.py", "add_kernel", [4], dict(x_ptr=normal(1000), y_ptr=normal(1000), output_ptr=zeros(1000)), n_elements=1000, BLOCK_SIZE=256)
    yield case("02-fused-softmax.py", "softmax_kernel", [3], dict(output_ptr=zeros(7, 100), input_ptr=normal(7, 100)), input_row_stride=100,
               output_row_stride=100, n_rows=7, n_cols=100, BLOCK_SIZE=128, num_stages=2)
    for dtype in ("float16", "float32"):
        yield case("03-matrix-multiplication.py", "matmul_kernel", [8], dict(a_ptr=normal(60, 50, dtype=dtype), b_ptr=normal(50, 100, dtype=dtype),
                   c_ptr=zeros(60, 100, dtype="float16")), M=60, N=100, K=50, stride_am=50, stride_ak=1, stride_bk=100, stride_bn=1, stride_cm=100,
                   stride_cn=1, BLOCK_SIZE_M=32, BLOCK_SIZE_N=32, BLOCK_SIZE_K=32, GROUP_SIZE_M=2, ACTIVATION="leaky_relu")
    yield case("04-low-memory-dropout.py", "_dropout", [2], dict(x_ptr=normal(100), x_keep_ptr=random.integers(0, 2, 100).astype("int32"),
               output_ptr=zeros(100)), n_elements=100, p=0.5, BLOCK_SIZE=64)
    yield case("04-low-memory-dropout.py", "_seeded_dropout", [2], dict(x_ptr=normal(100), output_ptr=zeros(100)), n_elements=100, p=0.5, seed=123,
               BLOCK_SIZE=64)
    rows = dict(X=normal(6, 100), W=normal(100), B=normal(100))
    yield case("05-layer-norm.py", "_layer_norm_fwd_fused", [6], dict(Y=zeros(6, 100), Mean=zeros(6), Rstd=zeros(6), **rows), stride=100, N=100, eps=1e-5,
               BLOCK_SIZE=64)
    yield case("05-layer-norm.py", "_layer_norm_bwd_dx_fused", [6], dict(DX=zeros(6, 100), DY=normal(6, 100), DW=zeros(2, 100), DB=zeros(2, 100), X=rows["X"],
               W=rows["W"], Mean=rows["X"].mean(1), Rstd=1 / rows["X"].std(1), Lock=zeros(4, dtype="int32")), stride=100, N=100, GROUP_SIZE_M=2,
               BLOCK_SIZE_N=128)
    yield case("05-layer-norm.py", "_layer_norm_bwd_dwdb", [2], dict(DW=normal(2, 100), DB=normal(2, 100), FINAL_DW=zeros(100), FINAL_DB=zeros(100)), M=2,
               N=100, BLOCK_SIZE_M=32, BLOCK_SIZE_N=64)
    # Attention: 2 batches of 2 heads, 64 positions of 32 numbers.
    z, h, n, d = 2, 2, 64, 32
    scale = 0.5
    q, k, v, do = [normal(z, h, n, d, dtype="float16") for _ in range(4)]
    for causal in (False, True):
        scores = scale * numpy.einsum("zhmd,zhnd->zhmn", q.astype("float64"), k.astype("float64"))
        scores = numpy.where(numpy.tril(numpy.ones((n, n), bool)) if causal else True, scores, -numpy.inf)
        largest = scores.max(-1, keepdims=True)
        weights = numpy.exp(scores - largest)
        o = (weights / weights.sum(-1, keepdims=True) @ v.astype("float64")).astype("float16")
        m = ((largest + numpy.log(weights.sum(-1, keepdims=True)))[..., 0] / math.log(2)).astype("float32")
        yield case("06-fused-attention.py", "_attn_fwd", [2, z * h], dict(M=zeros(z, h, n), desc_q=q, desc_k=k, desc_v=v, desc_o=zeros(z, h, n, d, dtype="float16")),
                   sm_scale=scale, Z=z, H=h, N_CTX=n, HEAD_DIM=d, BLOCK_M=32, BLOCK_N=32, FP8_OUTPUT=False, STAGE=3 if causal else 1, warp_specialize=False,
                   IS_HOPPER=False)
        yield case("06-fused-attention.py", "_attn_bwd", [n // 32, 1, z * h], dict(
            Q=q, K=(k * (scale / math.log(2))).astype("float16"), V=v, DO=do, DQ=zeros(z, h, n, d, dtype="float16"), DK=zeros(z, h, n, d, dtype="float16"),
            DV=zeros(z, h, n, d, dtype="float16"), M=m, D=(o.astype("float32") * do).sum(-1)), sm_scale=scale, stride_z=h * n * d, stride_h=n * d, stride_tok=d,
            stride_d=1, H=h, N_CTX=n, BLOCK_M1=16, BLOCK_N1=32, BLOCK_M2=32, BLOCK_N2=16, BLK_SLICE_FACTOR=1, HEAD_DIM=d, CAUSAL=causal)
    yield case("06-fused-attention.py", "_attn_bwd_preprocess", [2, z * h], dict(O=q, DO=do, Delta=zeros(z, h, n)), Z=z, H=h, N_CTX=n, BLOCK_M=32, HEAD_DIM=d)


# --- both sides ---------------------------------------------------------------------------------------------

def complaint(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return ([line for line in lines if "error: " in line] or lines or ["no result"])[0][:300]


def runCase(options, numpy, interpreter, case, folder):
    """(status, reason): status is `agreed`, `differs`, `triton` (its interpreter refuses) or `nereid` (the engine does)."""
    _, path, kernel, grid, tensors, values, devices = case
    job = dict(file=str(path), kernel=kernel, grid=grid, tensors={}, values=values, out={})
    for name, array in tensors.items():
        job["tensors"][name] = str(folder / f"{name}.npy")
        job["out"][name] = str(folder / f"{name}.triton.npy")
        numpy.save(job["tensors"][name], array)
    why = interpreter.run(job)
    if why:
        return "triton", why
    for device in devices:
        words = [options.bin / "nereid", "run", f"{path}:{kernel}", "--device", device, "--grid", f"({', '.join(map(str, grid))},)"]
        for name in tensors:
            words += ["--arg", f"{name}={job['tensors'][name]}", "--save", f"{name}={folder / name}.{device}.npy"]
        for name, value in values.items():
            words += ["--arg", f"{name}={value}"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=options.limit, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            return "nereid", f"{device}: {complaint(done.stderr)}"
        for name in tensors:
            wanted, seen = numpy.load(job["out"][name]), numpy.load(folder / f"{name}.{device}.npy")
            why = differs(numpy, wanted, seen, options.within)
            if why:
                return "differs", f"{device}: `{name}` {why}"
    return "agreed", ""


def differs(numpy, wanted, seen, within):
    if wanted.shape != seen.shape or wanted.dtype != seen.dtype:
        return f"is {seen.dtype}{list(seen.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.kind != "f":
        bad = wanted != seen
    else:
        a, b = wanted.astype("float64"), seen.astype("float64")
        finite = numpy.isfinite(a) & numpy.isfinite(b)
        scale = max(1.0, float(numpy.abs(a[finite]).max(initial=0.0)))
        step = float(numpy.finfo(wanted.dtype).eps)
        bad = numpy.where(finite, numpy.abs(numpy.where(finite, a, 0) - numpy.where(finite, b, 0)) > max(within, 2 * step) * scale,
                          ~((a == b) | (numpy.isnan(a) & numpy.isnan(b))))
    if not bad.any():
        return None
    at = tuple(int(i) for i in numpy.argwhere(bad)[0])
    return f"differs in {int(bad.sum())} of {bad.size} elements, first at {list(at)}: {seen[at]}, Triton's interpreter has {wanted[at]}"


def main():
    if sys.argv[1:] == ["--serve"]:
        serve()
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "dev" / "bin")
    parser.add_argument("--python", default=sys.executable, help="a Python with torch, triton and numpy below 2.4")
    parser.add_argument("--tutorials", type=pathlib.Path, help="a folder with Triton's tutorials")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--within", type=float, default=2e-6, help="of the largest magnitude (default 2e-6)")
    parser.add_argument("--limit", type=float, default=120, help="seconds a run (default 120)")
    parser.add_argument("--results", help="where to write the counts as docs/results/README.md says")
    parser.add_argument("--version", default="", help="of Triton, for --results")
    options = parser.parse_args()
    import numpy
    cases = list(expectCases(numpy)) if not options.tutorials else list(tutorialCases(options.tutorials.resolve(), numpy))
    cases = [case for case in cases if options.only in case[0]]
    result = dict(passed=0, failed=0, skipped=0, failures=[])
    interpreter = Interpreter(options.python, options.limit)
    misses, ran, files = {}, 0, set()
    for case in cases:
        status, why = ("skipped", case[1]) if len(case) == 2 else (None, None)
        if status is None:
            files.add(case[1])
            with tempfile.TemporaryDirectory() as folder:
                try:
                    status, why = runCase(options, numpy, interpreter, case, pathlib.Path(folder))
                except subprocess.TimeoutExpired:
                    status, why = "nereid", "time-out"
            # Where Triton's interpreter refuses, the engine is not asked.
            ran += status in ("agreed", "differs")
            if status in ("differs", "triton") and case[2] in WRONG:
                status, why = "skipped", WRONG[case[2]]
        print(f"{status:8} {case[0]}{'  ' + why if why else ''}", flush=True)
        kind = "passed" if status == "agreed" else "failed" if status in ("differs", "nereid") else "skipped"
        result[kind] += 1
        if kind == "failed":
            result["failures"].append(f"{case[0]}: {why}")
        if status != "agreed":
            reason = f"Triton's interpreter refuses: {why}" if status == "triton" else why
            entry = misses.setdefault(reason, dict(reason=reason, count=0, example=case[0].partition("(")[0]))
            entry["count"] += 1
    interpreter.close()
    if options.results:
        package = "tutorials of Triton" if options.tutorials else "test/run"
        pathlib.Path(options.results).write_text(json.dumps(dict(
            package=package, version=options.version, against="TRITON_INTERPRET=1", files=len(files), kernels=len(cases), emitted=ran, ran=ran,
            agreed=result["passed"], misses=sorted(misses.values(), key=lambda miss: -miss["count"])), indent=1) + "\n")
    print(json.dumps(result))
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
