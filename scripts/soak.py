#!/usr/bin/env python3
"""Random kernels through every back end: `./dev soak [SECONDS] [--seed N] [--devices ref,cpu]`; with `--compiles N`, one
process that compiles N new kernels and launches each (test/soak/Soak.cpp), whose memory must not grow.

Each random kernel uses only what docs/numerics.md promises to be bit-equal, so any difference from the interpreter is a fault.
The first fault stops the soak, prints its seed, and leaves the kernel in build/soak/SEED.py; `--seed N` runs it again.
"""
import argparse
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
# How the command spells the types of tensors.
SHORT = {"int1": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
         "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


class Kernel:
    """The text of one random kernel and the tensors it needs."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.values, self.inputs, self.outputs = [], [], [], []
        self.two = self.random.random() < 0.5
        self.shape = [self.random.choice([2, 4, 8, 16]), self.random.choice([4, 16, 32])] if self.two else \
            [self.random.choice([8, 16, 64, 128])]
        self.count = math.prod(self.shape)
        # The tail of the last program is masked off.
        self.total = self.count * self.random.choice([1, 2, 3]) - self.random.choice([0, 1, 3])
        self.text = self.generate()

    # A value is (name, dtype, shape, product): a float product must not meet an addition, which may be contracted.
    def add(self, text, dtype, shape, product=False):
        name = f"v{len(self.values)}"
        self.lines.append(f"{name} = {text}")
        self.values.append((name, dtype, tuple(shape), product))
        return self.values[-1]

    def pick(self, kinds=None, full=False, product=True):
        fitting = [v for v in self.values if (kinds is None or v[1] in kinds) and (product or not v[3])
                   and (not full or v[2] == tuple(self.shape))]
        return self.random.choice(fitting) if fitting else None

    def as_type(self, value, dtype):
        return value[0] if value[1] == dtype else f"{value[0]}.to(tl.{dtype})"

    def joined(self, one, other):
        """The shape of two values together, or None: only equal shapes and scalars meet."""
        if one[2] == other[2]:
            return one[2]
        return one[2] or other[2] if not one[2] or not other[2] else None

    def statement(self):
        choose = self.random.choice
        kind = choose(["integer", "integer", "integer", "float", "float", "compare", "where", "cast", "cast", "unary", "reduce",
                       "shape", "scan", "constant", "loop"])
        if kind == "integer":
            one, other = self.pick(INTEGERS), self.pick(INTEGERS)
            if one and other and self.joined(one, other) is not None:
                dtype = choose([one[1], other[1]])
                operator = choose(["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"])
                self.add(f"{self.as_type(one, dtype)} {operator} {self.as_type(other, dtype)}", dtype, self.joined(one, other))
        elif kind == "constant":
            one = self.pick(INTEGERS)
            if one:
                number = self.random.randint(0, 100)
                self.add(f"{one[0]} {choose(['+', '*', '&', '>>', '<<', '//', '%'])} {number}", one[1], one[2])
        elif kind == "float":
            operator = choose(["+", "-", "*", "tl.maximum", "tl.minimum"])
            additive = operator in "+-"
            one, other = self.pick(FLOATS, product=not additive), self.pick(FLOATS, product=not additive)
            if one and other and self.joined(one, other) is not None:
                dtype = choose([one[1], other[1]])
                a, b = self.as_type(one, dtype), self.as_type(other, dtype)
                text = f"{operator}({a}, {b})" if operator[0] == "t" else f"{a} {operator} {b}"
                # A cast cuts contraction; without one the flag is inherited.
                carried = operator[0] == "t" and (one[3] and one[1] == dtype or other[3] and other[1] == dtype)
                self.add(text, dtype, self.joined(one, other), operator == "*" or carried)
        elif kind == "loop":
            # Carried through a loop of a run-time length.
            one, other = self.pick(INTEGERS), self.pick(INTEGERS)
            if one and other and one[2] == other[2]:
                name = self.add(one[0], one[1], one[2])[0]
                self.lines.append(f"for k in range({choose(['0, tl.num_programs(0)', '3, 0, -1', '1, 1'])}):")
                self.lines.append(f"    {name} = {name} {choose(['+', '-', '*', '^'])} {self.as_type(other, one[1])}")
        elif kind == "compare":
            one, other = self.pick(), self.pick()
            if one and other and self.joined(one, other) is not None and one[1] == other[1] != "int1":
                self.add(f"{one[0]} {choose(['<', '<=', '>', '>=', '==', '!='])} {other[0]}", "int1", self.joined(one, other))
        elif kind == "where":
            condition, one, other = self.pick(["int1"]), self.pick(), self.pick()
            if condition and one and other and condition[2] == one[2] == other[2] and one[1] != "int1":
                same = one[1] == other[1]
                self.add(f"tl.where({condition[0]}, {one[0]}, {self.as_type(other, one[1])})", one[1], one[2],
                         one[3] or same and other[3])
        elif kind == "cast":
            one = self.pick()
            dtype = choose(INTEGERS + FLOATS)
            if one and one[1] != dtype:
                self.add(f"{one[0]}.to(tl.{dtype})", dtype, one[2])
        elif kind == "unary":
            one = self.pick(INTEGERS + FLOATS)
            if one:
                text = choose([f"-{one[0]}", f"tl.abs({one[0]})"] + ([f"~{one[0]}"] if one[1] in INTEGERS else []))
                if one[1].startswith("uint") and text[0] != "~":
                    return
                self.add(text, one[1], one[2], one[3])
        elif kind == "reduce":
            one = self.pick(["int32", "int64", "uint32", "uint64", "float32", "float64"])
            if one and one[2]:
                integer = one[1] in INTEGERS
                axis = self.random.randrange(len(one[2]))
                function = choose(["max", "min"] + (["sum", "xor_sum"] if integer else []))
                shape = one[2][:axis] + one[2][axis + 1 :]
                if shape and self.random.random() < 0.5:
                    self.add(f"tl.broadcast_to(tl.{function}({one[0]}, axis={axis}, keep_dims=True), {list(one[2])})", one[1],
                             one[2])
                elif not shape:
                    self.add(f"tl.{function}({one[0]}, axis={axis})", one[1], ())
        elif kind == "scan":
            one = self.pick(["int32", "int64", "uint32", "uint64"], full=True)
            if one:
                reverse = self.random.random() < 0.5
                self.add(f"tl.cumsum({one[0]}, axis={self.random.randrange(len(one[2]))}, reverse={reverse})", one[1], one[2])
        elif kind == "shape":
            one = self.pick(full=True)
            if one and self.two and one[1] != "int1":
                rows, columns = self.shape
                self.add(choose([f"tl.trans({one[0]}).reshape({rows}, {columns})", f"{one[0]}.reshape({columns}, {rows}).trans()",
                                 f"tl.flip({one[0]}, 1)"]), one[1], one[2], one[3])

    def generate(self):
        for i in range(self.random.randint(1, 4)):
            dtype = self.random.choice(INTEGERS + FLOATS)
            self.inputs.append((f"x{i}", dtype))
            other = self.random.choice(["", ", other=1"])
            self.add(f"tl.load(x{i} + at, mask=at < TOTAL{other})", dtype, self.shape)
        steps = self.random.randint(4, 24)
        while steps:
            before = len(self.lines)
            self.statement()
            steps -= len(self.lines) > before or self.random.random() < 0.1
        fitting = [v for v in self.values if v[2] == tuple(self.shape)]
        for i, value in enumerate(fitting[-3:]):
            dtype = "int8" if value[1] == "int1" else value[1]
            self.outputs.append((f"y{i}", dtype))
            self.lines.append(f"tl.store(y{i} + at, {self.as_type(value, dtype)}, mask=at < TOTAL)")
        head = ["at = tl.program_id(0) * COUNT"]
        if self.two:
            head[0] += f" + tl.arange(0, {self.shape[0]})[:, None] * {self.shape[1]} + tl.arange(0, {self.shape[1]})[None, :]"
        else:
            head[0] += f" + tl.arange(0, {self.shape[0]})"
        names = ", ".join(name for name, _ in self.inputs + self.outputs)
        body = "\n".join("    " + line for line in head + self.lines)
        return ("import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
                f"def soak({names}, COUNT: tl.constexpr, TOTAL: tl.constexpr):\n{body}\n")

    def data(self, dtype):
        """Values that matter beside plain ones, as the command reads them."""
        if dtype in INTEGERS:
            bits = int(dtype.strip("uint"))
            low, high = (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            special = [0, 1, low, high, high - 1, 7, min(bits, high)]
            draw = lambda: self.random.choice(special) if self.random.random() < 0.3 else self.random.randint(low, high)
        else:
            special = ["nan", "inf", "-inf", "0.0", "-0.0", "1e-45", "65504.0", "1e-7", "3.4e38", "0.5", "448.0"]
            draw = lambda: self.random.choice(special) if self.random.random() < 0.3 else repr(self.random.uniform(-300, 300))
        return "[" + ", ".join(str(draw()) for _ in range(self.total)) + "]:" + SHORT[dtype]

    def command(self, nereid, path):
        words = [nereid, "run", f"{path}:soak", "--json", "--grid", f"({-(-self.total // self.count)},)",
                 "--arg", f"COUNT={self.count}", "--arg", f"TOTAL={self.total}"]
        for name, dtype in self.inputs:
            words += ["--arg", f"{name}={self.data(dtype)}"]
        for name, dtype in self.outputs:
            words += ["--arg", f"{name}=zeros({self.total},{SHORT[dtype]})", "--print", name]
        return words


def bits(value):
    """NaNs are one value; zeros differ by sign."""
    value = float(value) if isinstance(value, str) else value
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return value


def difference(wanted, seen):
    for name in wanted:
        pairs = list(zip(wanted[name]["data"], seen.get(name, {}).get("data", [])))
        if len(pairs) != len(wanted[name]["data"]):
            return f"{name}: {len(pairs)} elements"
        for i, (one, other) in enumerate(pairs):
            if bits(one) != bits(other):
                return f"{name}[{i}]: {other}, and {one} on the interpreter"
    return None


def run(command, device):
    try:
        done = subprocess.run(command + ["--device", device], cwd=ROOT, capture_output=True, timeout=120, text=True,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None, "no answer within 120 s"
    if done.returncode != 0:
        return None, f"exit code {done.returncode}\n{done.stderr[-3000:]}"
    return json.loads(done.stdout)["outputs"], None


def soak(seed, nereid, devices):
    """None, or what is wrong with the kernel of `seed`."""
    kernel = Kernel(seed)
    path = ROOT / "build" / "soak" / f"{seed}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(kernel.text)
    command = kernel.command(nereid, path)
    wanted, error = run(command, devices[0])
    if error:
        return f"{devices[0]}: {error}"
    for device in devices[1:]:
        seen, error = run(command, device)
        error = error or difference(wanted, seen)
        if error:
            return f"{device}: {error}"
    path.unlink()
    return None


def main():
    parser = argparse.ArgumentParser(prog="./dev soak", description="Random kernels through every back end, compared bit for "
                                     "bit; or, with --compiles, many compiles and launches in one process, whose memory must "
                                     "not grow.")
    parser.add_argument("seconds", nargs="?", type=float, default=600, help="of random kernels (default: 600)")
    parser.add_argument("--seed", type=int, help="run the random kernel of this seed alone")
    parser.add_argument("--devices", default="ref,cpu" + (",cuda:0" if os.path.exists("/dev/nvidiactl") else ""),
                        help="the first gives the expected results (default: each one present)")
    parser.add_argument("--show", action="store_true", help="only print the kernel of --seed")
    parser.add_argument("--compiles", type=int, metavar="N", help="compile and launch N kernels in one process on the last of "
                        "--devices")
    parser.add_argument("--preset", default="release", help="the build to run (default: release)")
    arguments = parser.parse_args()
    if arguments.show:
        print(Kernel(arguments.seed or 0).text)
        return 0
    program = "soak" if arguments.compiles else "nereid"
    built = subprocess.run(["ninja", "-C", f"build/{arguments.preset}", "-j", os.environ.get("JOBS", str(os.cpu_count())),
                            program], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if built.returncode != 0:
        print(f"{built.stdout[-4000:]}\n./dev soak: `{program}` of build/{arguments.preset} cannot be built")
        return 3
    if arguments.compiles:
        return subprocess.run([ROOT / "build" / arguments.preset / "bin" / "soak", str(arguments.compiles),
                               arguments.devices.split(",")[-1]], cwd=ROOT).returncode
    nereid = ROOT / "build" / arguments.preset / "bin" / "nereid"
    first = arguments.seed if arguments.seed is not None else int(time.time())
    end, count = time.time() + arguments.seconds, 0
    while count == 0 or arguments.seed is None and time.time() < end:
        seed = first + count
        wrong = soak(seed, str(nereid), arguments.devices.split(","))
        if wrong:
            print(f"soak: seed {seed}, build/soak/{seed}.py\n{wrong}")
            return 1
        count += 1
    print(f"soak: {count} kernels from seed {first}, all equal on {arguments.devices}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
