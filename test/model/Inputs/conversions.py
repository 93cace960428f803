"""Random tiles that are reshaped and permuted, which moves elements between threads: the model of a GPU against the interpreter.

    conversions.py NEREID SEED COUNT
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

KERNEL = """import triton
import triton.language as tl


@triton.jit
def move(x, y, N: tl.constexpr):
    t = tl.load(x + tl.arange(0, N))
{steps}
    tl.store(y + tl.arange(0, N), tl.reshape(t, (N,)))
"""


def shape(rng, bits):
    cuts = sorted(rng.sample(range(1, bits), rng.randint(1, min(3, bits - 1))))
    return [1 << b - a for a, b in zip([0] + cuts, cuts + [bits])]


def made(rng):
    """(text, N, warps, dtype): two or three times a shape and another order of its dimensions, with sums between that fix layouts."""
    bits = rng.choice([7, 9, 10, 12, 13, 15])
    steps = []
    for _ in range(rng.randint(2, 3)):
        dims = shape(rng, bits)
        order = rng.sample(range(len(dims)), len(dims))
        steps.append(f"    t = tl.permute(tl.reshape(t, {tuple(dims)}), {tuple(order)})")
        if rng.random() < 0.5:
            axis = rng.randrange(len(dims))
            steps.append(f"    t = t + tl.expand_dims(tl.max(t, {axis}), {axis})")
    dtype = rng.choice(["i32", "i32", "i16", "i8", "i64"] if bits < 15 else ["i32", "i16"])
    return KERNEL.format(steps="\n".join(steps)), 1 << bits, rng.choice([1, 2, 4, 8]), dtype


def main():
    nereid, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "move.py"
        for number in range(count):
            text, extent, warps, dtype = made(random.Random(seed * 1000 + number))
            path.write_text(text)
            answers = []
            for device in ("ref", "cuda:0"):
                done = subprocess.run([nereid, "run", f"{path}:move", "--device", device, "--num-warps", str(warps), "--arg", f"x=iota({extent},{dtype})",
                                       "--arg", f"y=zeros({extent},{dtype})", "--const", f"N={extent}", "--json", "--print", "y"], capture_output=True, text=True)
                answers.append(json.loads(done.stdout)["outputs"]["y"]["data"] if done.returncode == 0 else done.stderr)
            if answers[0] != answers[1]:
                wrong += 1
                print(f"seed {seed}, number {number}, {warps} warps, {dtype}: differs\n{text}\n{str(answers[1])[:600]}")
    print(f"{count - wrong} of {count} agree")


main()
