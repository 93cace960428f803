#!/usr/bin/env python3
"""Public kernels at the level of numbers: interpreter, CPU back end and Triton's own interpreter on the same inputs. By hand.

    scripts/corpus.py --from DIR --signatures found.json ...
    scripts/corpus-differ.py found.json --from DIR [--bin build/release/bin] [--only TEXT] [--json OUT] [--results OUT --package NAME --version VERSION]

For each kernel that `scripts/corpus.py` found a signature for: makes small tensors and numbers for it, changes them until
`nereid check` has nothing to say (guessed sizes lead out of bounds at first), then compares all tensors after one launch on ref,
on cpu and in Triton's interpreter. For that one only the kernel's own definitions are taken from its files, not what they import.

Triton's interpreter computes on the bit patterns of bf16 and does not saturate fp8: kernels on those are compared between ref and
cpu. Needs torch, triton and numpy below 2.4. Nothing of a package is kept. Without `check` being clean nothing is compared: such kernels count as
"no launch found".
"""
import argparse
import ast
import collections
import concurrent.futures
import importlib
import json
import os
import pathlib
import pickle
import re
import signal
import sys
import tempfile
import types
import zlib

os.environ["TRITON_INTERPRET"] = "1"
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402
import torch  # noqa: E402
import triton.language  # noqa: E402,F401  once: each interpreted launch is a fork

from corpus_tools import NEAR, ROOT, Nereid, reasonOf  # noqa: E402

NUMPY = {"fp64": np.float64, "fp32": np.float32, "fp16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8,
         "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "i1": np.bool_, "bf16": np.dtype("V2"), "fp8e4nv": np.dtype("V1"),
         "fp8e5": np.dtype("V1")}
OPAQUE = ("bf16", "fp8e4nv", "fp8e5")
ELEMENTS = 1 << 15


# --- a launch -------------------------------------------------------------------------------------------

class Launch:
    """Arguments for a signature, with scalars of one size and tensors of small numbers."""

    def __init__(self, key, words, parameters, constexprs, size, stride, grid, indices=4):
        self.file, self.kernel = key.rsplit(":", 1)
        self.grid, self.facts = grid, []
        random = np.random.default_rng(zlib.crc32(key.encode()))
        for parameter, word in zip(parameters, words):
            if parameter in constexprs:
                self.facts.append((parameter, "constexpr", word))
            elif word.startswith("*"):
                dtype = word[1:].partition(":")[0]
                self.facts.append((parameter, "pointer", (dtype, tensor(random, dtype, indices))))
            elif re.fullmatch(r"[iu]\d+(:\d+)?|\d+", word):
                value = int(word) if word.isdigit() else 1 if word.startswith("i1") and not word.startswith("i16") else stride if "stride" in parameter.lower() else size
                self.facts.append((parameter, "scalar", value))
            elif word.startswith("fp"):
                self.facts.append((parameter, "scalar", 0.5))
            elif word in ("None", "True", "False"):
                self.facts.append((parameter, "scalar", ast.literal_eval(word)))
            else:
                raise ValueError(f"no argument for `{word}`")

    def words(self, root, folder):
        out = [f"{root / self.file}:{self.kernel}", "--grid", str(self.grid)]
        for name, kind, value in self.facts:
            if kind == "constexpr":
                out += ["--const", f"{name}={value}"]
            elif kind == "scalar":
                out += ["--arg", f"{name}={value}"]
            else:
                path = os.path.join(folder, f"{name}.npy")
                if not os.path.exists(path):
                    np.save(path, value[1])
                out += ["--arg", f"{name}={path}"]
        return out

    def pointers(self):
        return {name: value[0] for name, kind, value in self.facts if kind == "pointer"}


def tensor(random, dtype, indices):
    if dtype in OPAQUE:
        # The upper half of f32 for bf16; small finite numbers of fp8.
        bits = (random.uniform(-1, 1, ELEMENTS).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) if dtype == "bf16" else \
            random.integers(0, 0x40, ELEMENTS).astype(np.uint8)
        return bits.view(NUMPY[dtype])
    if dtype.startswith("fp"):
        return random.uniform(-1, 1, ELEMENTS).astype(NUMPY[dtype])
    return random.integers(0, 2 if dtype == "i1" else indices, ELEMENTS).astype(NUMPY[dtype])


# --- Triton's interpreter -------------------------------------------------------------------------------

class Slices:
    """Definitions of a package's files, each executed with what it needs and nothing else."""

    def __init__(self, root):
        self.root, self.trees, self.spaces = root, {}, {}

    def statements(self, path):
        if path not in self.trees:
            found = {}

            def walk(body):
                for node in body:
                    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                        found.setdefault(node.name, node)
                    elif isinstance(node, (ast.Import, ast.ImportFrom)):
                        for alias in node.names:
                            found.setdefault(alias.asname or alias.name.partition(".")[0], node)
                    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                            for name in ast.walk(target):
                                if isinstance(name, ast.Name):
                                    found.setdefault(name.id, node)
                    for field in ("body", "orelse", "finalbody"):
                        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                            walk(getattr(node, field, []))

            walk(ast.parse(path.read_text()).body)
            self.trees[path] = found
        return self.trees[path]

    def moduleFile(self, dotted, path, level):
        if level:
            base = path.parents[level - 1]
            candidates = [base / dotted.replace(".", "/")] if dotted else [base]
        else:
            candidates = [self.root / dotted.replace(".", "/"), *[parent / dotted.replace(".", "/") for parent in path.parents if parent.is_relative_to(self.root)]]
        for candidate in candidates:
            for file in (candidate.with_name(candidate.name + ".py"), candidate / "__init__.py"):
                if file.is_file():
                    return file
        return None

    def define(self, path, name):
        """Binds a name of a file in its namespace, and returns the namespace."""
        space = self.spaces.setdefault(path, {"__name__": path.stem, "__file__": str(path)})
        node = self.statements(path).get(name)
        if name in space or node is None:
            return space
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                bound = alias.asname or alias.name
                if bound != name:
                    continue
                file = None if node.module and node.module.startswith("triton") and not node.level else self.moduleFile(node.module or "", path, node.level)
                if file and alias.name in self.statements(file):
                    space[name] = self.define(file, alias.name)[alias.name]
                elif below := self.moduleFile(f"{node.module}.{alias.name}" if node.module else alias.name, path, node.level) if file or node.level else None:
                    space[name] = Lazy(self, below)
                else:
                    space[name] = real(node.module, alias.name)
            return space
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname == name:
                    space[name] = importlib.import_module(alias.name)
                elif not alias.asname and alias.name.partition(".")[0] == name:
                    importlib.import_module(alias.name)
                    space[name] = importlib.import_module(name)
            return space
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            keep = [d for d in node.decorator_list if "jit" in ast.unparse(d).split("(")[0] or isinstance(node, ast.ClassDef) or "constexpr_function" in ast.unparse(d)]
            node.decorator_list = keep
            space[name] = None  # its own name, for recursion
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id != name:
                self.define(path, inner.id)
        exec(compile(ast.Module([node], []), str(path), "exec"), space)
        return space


class Lazy(types.SimpleNamespace):
    """A module of the package: what is asked of it is defined then."""

    def __init__(self, slices, path):
        self.__dict__.update(slices=slices, path=path)

    def __getattr__(self, name):
        if name in ("slices", "path"):
            raise AttributeError(name)
        space = self.slices.define(self.path, name)
        if name not in space:
            raise AttributeError(name)
        return space[name]


def real(module, name):
    if module == "triton.language.extra" and name == "libdevice" or (module or "").endswith(".libdevice"):
        module, name = "triton.language.extra", name
        found = importlib.import_module("triton.language.extra.libdevice")
        return found if name == "libdevice" else getattr(found, name)
    found = importlib.import_module(module)
    if hasattr(found, name):
        return getattr(found, name)
    return importlib.import_module(f"{module}.{name}")


def interpret(root, launch):
    """{tensor: array} after the launch in Triton's interpreter."""
    import triton.language as tl
    libdevice = importlib.import_module("triton.language.extra.libdevice")
    libdevice.tanh = lambda x: 2 * tl.sigmoid(2 * x) - 1
    libdevice.rsqrt = lambda x: 1.0 / tl.sqrt(x)
    kernel = Slices(root).define(root / launch.file, launch.kernel)[launch.kernel]
    arguments, tensors = {}, {}
    for name, kind, value in launch.facts:
        if kind == "pointer":
            tensors[name] = torch.from_numpy(value[1].copy())
            arguments[name] = tensors[name]
        elif kind == "constexpr":
            space = {"tl": tl}
            arguments[name] = eval(value, space)
        else:
            arguments[name] = value
    kernel[launch.grid](**arguments)
    return {name: value.numpy() for name, value in tensors.items()}


def interpretApart(root, launch, limit):
    """The same in a process of its own: (results, None) or (None, why)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(limit)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            answer = interpret(root, launch), None
        except BaseException as error:
            while error.__cause__ is not None:
                error = error.__cause__
            answer = None, f"{type(error).__name__}: {error}".splitlines()[0][:160]
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else (None, "crash or time-out")


# --- comparison -----------------------------------------------------------------------------------------

def numbers(array, dtype):
    if dtype == "bf16":
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype in OPAQUE:
        return array.view(np.uint8).astype(np.float64)  # as codes, which are ordered like the numbers of one sign
    return array.astype(np.float64)


def differ(results, others, pointers):
    """Why two devices disagree, or None."""
    narrow = max((NEAR[d] for d in pointers.values() if d in ("fp16", "bf16", "fp8e4nv")), default=(0, 0))
    for name, dtype in pointers.items():
        a, b = numbers(results[name], dtype), numbers(others[name], dtype)
        _, element = (max(pair) for pair in zip(NEAR[dtype], narrow)) if dtype in NEAR else (0, 1 if dtype in OPAQUE else 0)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        finite = np.abs(a[np.isfinite(a)])
        mean = finite.mean() if finite.size else 0
        with np.errstate(invalid="ignore"):
            near = np.abs(a - b) <= element * np.maximum(np.minimum(np.abs(a), np.abs(b)), mean)
        wrong = np.flatnonzero(~(same | near))
        if wrong.size:
            i = wrong[0]
            return f"{wrong.size} elements of `{name}`, first {i}: {a[i]:.9g} and {b[i]:.9g}"
    return None


FITS = [(size, stride, grid, indices) for grid in ((2, 2, 1), (1, 1, 1)) for size, stride, indices in ((32, 32, 4), (16, 64, 2), (4, 32, 2), (64, 64, 8), (1, 1, 1), (2, 128, 2))]


def tryKernel(nereid, root, key, words, limit):
    """(what happened, why) of one kernel."""
    path, kernel = root / key.rsplit(":", 1)[0], key.rsplit(":", 1)[1]
    node = next((n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef) and n.name == kernel), None)
    if node is None:
        return "no launch", "the kernel is made by a call"
    parameters = [p.arg for p in node.args.posonlyargs + node.args.args]
    constexprs = {p.arg for p in node.args.posonlyargs + node.args.args if p.annotation and "constexpr" in ast.unparse(p.annotation)}
    launch, why, seen = None, "", False
    for size, stride, grid, indices in FITS:
        try:
            launch = Launch(key, words, parameters, constexprs, size, stride, grid, indices)
        except ValueError as error:
            return "no launch", str(error)
        if not launch.pointers():
            return "no launch", "no tensors"
        with tempfile.TemporaryDirectory() as folder:
            code, out, err = nereid.run(["check", *launch.words(root, folder)])
            if code != 0:
                why = reasonOf(code, err + out)
                continue
            results = {}
            for device in ("ref", "cpu"):
                saved = [w for name in launch.pointers() for w in ("--save", f"{name}={folder}/{name}.{device}.npy")]
                code, _, err = nereid.run(["run", *launch.words(root, folder), "--device", device, *saved])
                if code != 0:
                    return f"{device} fails", reasonOf(code, err)
                results[device] = {name: np.load(f"{folder}/{name}.{device}.npy").reshape(-1) for name in launch.pointers()}
        changed = any(not np.array_equal(results["ref"][name].view(np.uint8), value[1].view(np.uint8)) for name, kind, value in launch.facts if kind == "pointer")
        if not changed:
            seen, why = True, "nothing is written"
            continue
        if why := differ(results["ref"], results["cpu"], launch.pointers()):
            return "cpu differs from ref", why
        if any(dtype in OPAQUE for dtype in launch.pointers().values()):
            return "cpu agrees with ref", ""
        theirs, refusal = interpretApart(root, launch, limit)
        if theirs is None:
            return "cpu agrees with ref", f"Triton's interpreter: {refusal}"
        why = differ(results["ref"], theirs, launch.pointers())
        return ("differs from Triton's interpreter", why) if why else ("all agree", "")
    return ("no effect" if seen else "no launch"), why


def reasonClass(what, why):
    """How docs/results/README.md counts what is no agreement of all three."""
    return {"no launch": "no launch was found that `check` passes", "no effect": "nothing is written at the sizes that were tried"}.get(what) or \
        ((f"ref and cpu agree; {why.partition(': ')[0]} can't run it" if why else "bf16 or fp8: ref and cpu agree") if what == "cpu agrees with ref" else f"{what}: {why}")


def resultOf(package, version, rows):
    misses, examples = collections.Counter(), {}
    for key, (what, why) in sorted(rows.items()):
        if what != "all agree":
            misses[reasonClass(what, why)] += 1
            examples.setdefault(reasonClass(what, why), key)
    ran = sum(what not in ("no launch", "no effect", "script") for what, _ in rows.values())
    return dict(package=package, version=version, files=len({key.rsplit(":", 1)[0] for key in rows}), kernels=len(rows), emitted=len(rows), ran=ran,
                agreed=len(rows) - misses.total(), against="Triton's interpreter",
                misses=[dict(reason=reason, count=count, example=examples[reason]) for reason, count in misses.most_common()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("signatures")
    parser.add_argument("--from", dest="root", required=True, metavar="DIR")
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=60, help="seconds for one run")
    parser.add_argument("--json")
    parser.add_argument("--results", help="where to write the counts as docs/results/README.md says")
    parser.add_argument("--package", default="", help="for --results")
    parser.add_argument("--version", default="", help="for --results")
    options = parser.parse_args()
    binary = pathlib.Path(options.bin) / "nereid"
    nereid = Nereid(binary if binary.is_absolute() else ROOT / binary, options.limit)
    root = pathlib.Path(options.root).resolve()
    found = {key: words for key, words in json.loads(pathlib.Path(options.signatures).read_text()).items() if options.only in key}
    rows = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = {pool.submit(tryKernel, nereid, root, key, words, options.limit): key for key, words in found.items()}
        for future in concurrent.futures.as_completed(futures):
            key = futures[future]
            try:
                rows[key] = future.result()
            except Exception as error:
                rows[key] = "script", f"{type(error).__name__}: {error}"
            what, why = rows[key]
            print(f"{what:34} {key} {why}", flush=True)
    counts = collections.Counter(what for what, _ in rows.values())
    print(json.dumps(dict(counts)))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({key: dict(what=what, why=why) for key, (what, why) in sorted(rows.items())}, indent=1))
    if options.results:
        pathlib.Path(options.results).write_text(json.dumps(resultOf(options.package, options.version, rows), indent=1) + "\n")
    return 1 if any("differs" in what or "fails" in what for what, _ in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
