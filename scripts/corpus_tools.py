"""What the corpus drivers share: kernels of a file by CPython's ast, and recorded launches as command lines."""
import ast
import bisect
import json
import math
import os
import pathlib
import re
import struct
import subprocess

from corpus_inputs import digest, differs, makeInput

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What kernels must assemble for, with no GPU: tuned for sm_90a, the rest as far as it goes.
CHIPS = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100"]
# dtype of a recorded tensor -> (NumPy's code, struct's code of an element's bits). As in `nereid run --save`,
# dtypes that NumPy lacks are opaque bytes.
NPY = {"bf16": ("<V2", "H"), "fp8e4nv": ("|V1", "B"),
       "fp64": ("<f8", "d"), "fp32": ("<f4", "f"), "fp16": ("<f2", "e"), "i64": ("<i8", "q"), "i32": ("<i4", "i"), "i16": ("<i2", "h"),
       "i8": ("|i1", "b"), "u8": ("|u1", "B"), "u16": ("<u2", "H"), "u32": ("<u4", "I"), "u64": ("<u8", "Q"), "i1": ("|b1", "?")}


# --- kernels by CPython ------------------------------------------------------------------------------

def isJit(decorator):
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    if isinstance(target, ast.Attribute) and not (isinstance(target.value, ast.Name) and target.value.id in ("triton", "tl")):
        return False
    return name == "jit"


def wrapped(call):
    """The name of the function in `triton.jit(f)` or `triton.autotune(...)(f)`, and whether that is a `jit`."""
    if not (isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Name)):
        return None, False
    if isJit(call.func):
        return call.args[0].id, True
    outer = call.func.func if isinstance(call.func, ast.Call) else None
    if isinstance(outer, ast.Attribute) and outer.attr in ("autotune", "heuristics") and isinstance(outer.value, ast.Name) and outer.value.id == "triton":
        return call.args[0].id, False
    return None, False


def astKernels(text):
    """The kernels outside of other functions, by decorator or by call, those of a class as `CLASS.KERNEL`: [(name, line of `def`,
    parameters, node)]."""
    found, plain = [], {}
    tree = ast.parse(text)
    # Another library's `jit`.
    foreign = any(isinstance(node, ast.ImportFrom) and "triton" not in (node.module or "triton") and any((a.asname or a.name) == "jit" for a in node.names)
                  for node in tree.body)

    def isKernel(decorator):
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        return isJit(decorator) and not (foreign and isinstance(target, ast.Name))

    def walk(nodes, prefix):
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                arguments = node.args
                names = [a.arg for a in arguments.posonlyargs + arguments.args]
                if arguments.vararg:
                    names.append(arguments.vararg.arg)
                names += [a.arg for a in arguments.kwonlyargs]
                plain[prefix + node.name] = (node.lineno, names, node)
                if any(isKernel(decorator) for decorator in node.decorator_list):
                    found.append((prefix + node.name, node.lineno, names, node))
            elif isinstance(node, ast.ClassDef):
                walk(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and not prefix:
                function, made = wrapped(node.value)
                name, kernels = node.targets[0].id, [one[0] for one in found]
                if function in plain and (made or function in kernels) and name not in kernels:
                    found.append((name, *plain[function]))
                    plain[name] = plain[function]
            else:
                for field in ("body", "orelse", "finalbody"):
                    walk(getattr(node, field, []), prefix)
                for handler in getattr(node, "handlers", []):
                    walk(handler.body, prefix)

    walk(tree.body, "")
    return found


# --- the command ---------------------------------------------------------------------------------------

class Nereid:
    def __init__(self, binary, limit=60):
        self.binary, self.limit = pathlib.Path(binary), limit

    def run(self, words):
        """(exit code or None on a time-out, stdout, stderr)."""
        try:
            done = subprocess.run([str(self.binary), *map(str, words)], capture_output=True, stdin=subprocess.DEVNULL, timeout=self.limit)
            return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            return None, "", ""

    def list(self, file):
        """(kernels, None) or (None, why)."""
        code, out, err = self.run(["list", file, "--json"])
        if code != 0:
            return None, reasonOf(code, err)
        try:
            return json.loads(out)["kernels"], None
        except (ValueError, KeyError) as error:
            return None, f"list --json: {error}"

    def compile(self, file, kernel, signature, options=(), emit="tile", target="cpu"):
        """(text, None) or (None, why)."""
        code, out, err = self.run(["compile", f"{file}:{kernel}", "--signature", signature, "--target", target, "--emit", emit, "-o", "-", *options])
        return (out, None) if code == 0 and out.strip() else (None, reasonOf(code, err))

    def emit(self, file, kernel, signature, options=()):
        """None, or why tile IR was not emitted."""
        return self.compile(file, kernel, signature, options)[1]

    def refused(self, file, kernel, signature, options, span):
        """(None, 0) if tile IR is emitted, else why, and the line within `span` of `file` where emission ended."""
        code, out, err = self.run(["compile", f"{file}:{kernel}", "--signature", signature, "--emit", "tile", "-o", "-", *options])
        if code == 0 and out.strip():
            return None, 0
        lines = [int(n) for n in re.findall(rf"^{re.escape(str(file))}:(\d+):", err, re.M)]
        return reasonOf(code, err), max((n for n in lines if span[0] < n <= span[1]), default=0)


def reasonOf(code, err):
    """The first diagnostic, without its place, so that equal reasons count together."""
    if code is None:
        return "time-out"
    if code not in (0, 1, 2):
        return f"crash ({code})"
    for line in err.splitlines():
        found = re.search(r"error: (.*)", line)
        if found:
            return found.group(1).strip()
    lines = err.strip().splitlines()
    return lines[-1][:200] if lines else f"exit code {code}"


# --- recorded launches -----------------------------------------------------------------------------------

def literal(value):
    """A recorded constexpr as the text of a Python expression."""
    if isinstance(value, dict):
        if "dtype" in value:
            return f"tl.{longName(value['dtype'])}"
        if "function" in value:
            return value["function"]
        if "tuple" in value:
            items = ", ".join(literal(v) for v in value["tuple"])
            return f"({items},)" if len(value["tuple"]) == 1 else f"({items})"
        raise ValueError(f"a constexpr of type {value.get('unknown')}")
    return repr(value)


def longName(dtype):
    names = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "fp8e4nv": "float8e4nv", "fp8e5": "float8e5"}
    return names.get(dtype) or re.sub(r"^([iu])(\d+)$", lambda m: ("int" if m[1] == "i" else "uint") + m[2], dtype)


def typeText(fact):
    kind = fact["kind"]
    if kind == "constexpr":
        return literal(fact["value"])
    if kind == "pointer":
        return f"*{fact['dtype']}" + (":16" if fact["aligned"] else "")
    if kind == "none":
        return "None"
    if kind == "int":
        return fact["type"] + (":1" if fact["value"] == 1 else ":16" if fact["value"] % 16 == 0 else "")
    if kind == "float":
        return "fp32"
    if kind == "bool":
        return "i1"
    if kind == "tuple":
        items = ", ".join(typeText(item) for item in fact["items"])
        return f"({items},)" if len(fact["items"]) == 1 else f"({items})"
    if kind == "descriptor":
        return f"tensordesc<{fact['dtype']}[{','.join(map(str, fact['block_shape']))}]>"
    raise ValueError(f"an argument of type {fact.get('type')}")


def signatureOf(launch):
    return ", ".join(typeText(fact) for fact in launch["args"])


def optionsOf(launch):
    return [word for name, value in launch["options"].items() for word in (f"--{name.replace('_', '-')}", value)]


def fp8Value(bits):
    sign, exponent, mantissa = -1 if bits & 0x80 else 1, bits >> 3 & 15, bits & 7
    if bits & 0x7F == 0x7F:
        return math.nan
    return sign * (math.ldexp(mantissa, -9) if exponent == 0 else math.ldexp(8 + mantissa, exponent - 10))


FP8 = sorted((fp8Value(bits), bits) for bits in range(255) if bits not in (0x7F, 0x80))


def toBits(dtype, value):
    """What struct packs for a number: itself, or the nearest bit pattern of a dtype that struct lacks."""
    if dtype == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    if dtype == "fp8e4nv":
        at = bisect.bisect_left(FP8, (value, 0))
        return min(FP8[max(at - 1, 0):at + 1], key=lambda one: abs(one[0] - value))[1]
    return float(value) if dtype.startswith("fp") else int(value)


def fromBits(dtype, bits):
    if dtype == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    return fp8Value(bits) if dtype == "fp8e4nv" else float(bits)


def writeNpy(path, fact, values):
    """A recorded tensor's memory as one dimension."""
    code, form = NPY[fact["dtype"]]
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(struct.pack(f"<{len(values)}{form}", *[toBits(fact["dtype"], v) for v in values]))


def readNpy(path, dtype):
    data = pathlib.Path(path).read_bytes()
    if data[:6] != b"\x93NUMPY":
        raise ValueError("no .npy file")
    wide = data[6] >= 2
    length = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
    start = (12 if wide else 10) + length
    form = NPY[dtype][1]
    count = (len(data) - start) // struct.calcsize(form)
    return [fromBits(dtype, bits) for bits in struct.unpack_from(f"<{count}{form}", data, start)]


class Replay:
    """A recorded launch on inputs made by formula, on any device: results as lists of numbers."""

    def __init__(self, nereid, file, launch, folder):
        self.nereid, self.launch, self.folder = nereid, launch, folder
        self.words = ["run", f"{file}:{launch['kernel']}", "--grid", str(tuple(launch["grid"])), *optionsOf(launch)]
        self.tensors = {}
        for index, fact in enumerate(launch["args"]):
            name = fact["name"]
            if fact["kind"] == "constexpr":
                self.words += ["--const", f"{name}={literal(fact['value'])}"]
            elif fact["kind"] in ("pointer", "descriptor"):
                path = os.path.join(folder, f"{name}.npy")
                writeNpy(path, fact, makeInput(fact, index))
                text = path if fact["kind"] == "pointer" else \
                    f"descriptor(load({path!r}, shape={fact['shape']}, strides={fact['strides']}), {fact['block_shape']})"
                self.words += ["--arg", f"{name}={text}"]
                self.tensors[name] = fact["dtype"]
            elif fact["kind"] in ("none", "int", "float", "bool"):
                self.words += ["--arg", f"{name}={fact.get('value')}"]
            else:
                raise ValueError(f"an argument of kind {fact['kind']}")

    def on(self, device, *more):
        """(results by name, None) or (None, why); `more` are words of the command."""
        saved = {name: os.path.join(self.folder, f"{name}.{device}{''.join(more)}.npy") for name in self.tensors}
        words = [word for name, path in saved.items() for word in ("--save", f"{name}={path}")]
        code, _, err = self.nereid.run([*self.words, "--device", device, *more, *words])
        if code != 0:
            return None, reasonOf(code, err)
        try:
            return {name: readNpy(path, self.tensors[name]) for name, path in saved.items()}, None
        except (OSError, ValueError, KeyError, struct.error) as error:
            return None, f"--save: {error}"


def unexpected(results, launch):
    """Why results are not what was recorded, or None."""
    for name, digests in launch["expect"].items():
        # Kernels sum and exponentiate in f32; the interpreter that made `expect` does so in NumPy.
        why = differs(digest(results[name]), digests, rel=1e-5, quantum=1e-6)
        if why:
            return f"wrong `{name}`: {why}"
    return None


# How far two implementations may be apart on average, and an element, where nothing says how much a kernel rounds: sums in
# another order for f32, which exponentials of large sums amplify here and there; a rounding of each term for narrower types.
NEAR = {"fp64": (1e-9, 1e-7), "fp32": (1e-5, 1e-3), "fp16": (2.0**-10, 2.0**-7), "bf16": (2.0**-7, 2.0**-4), "fp8e4nv": (2.0**-4, 2.0**-1)}
# What a rounding to a type may change, as a part of the value.
ROUNDING = {"fp64": 2.0**-53, "fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8, "fp8e4nv": 2.0**-4, "fp8e5": 2.0**-3}


def apart(results, others, exact, tensors):
    """Why a device disagrees with the interpreter, or None. `exact` is what the interpreter computes with every float in f64:
    how far its own results are from that says how much the roundings of this launch do. A device may be eight times as far,
    as its functions may be 4 ulp off where the interpreter's are half of one (docs/numerics.md), and on top of it two roundings
    of the result on average, four to an element."""
    for name, values in results.items():
        rounding = ROUNDING.get(tensors[name])
        seen, total, size, own, worst = [], 0.0, 0.0, 0.0, 0.0
        for i, (a, b, e) in enumerate(zip(values, others[name], exact[name])):
            if a == b and (rounding is None or not math.isfinite(a)) or math.isnan(a) and math.isnan(b):
                continue
            if rounding is None or not (math.isfinite(a) and math.isfinite(b)):
                return f"element {i} of `{name}` is {b:.9g}, on ref {a:.9g}"
            e = e if math.isfinite(e) else a
            seen.append((i, a, b, e))
            total, size, own, worst = total + abs(b - e), size + abs(e), own + abs(a - e), max(worst, abs(a - e))
        for i, a, b, e in seen:
            if abs(b - e) > 8 * worst + 4 * rounding * (abs(e) + size / len(seen)):
                return f"element {i} of `{name}` is {b:.9g}, on ref {a:.9g}, exactly {e:.9g}"
        if seen and total > 8 * own + 2 * rounding * size:
            return f"`{name}` is {total / len(seen):.3g} from the exact result on average, ref {own / len(seen):.3g}"
    return None
