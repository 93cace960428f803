"""Random kernels around loops of products, of all that decides how the code for them loads, waits and multiplies: the model of a GPU against the
interpreter.

    products.py NEREID SEED COUNT
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

# Tile after tile of a product, or one a program.
PRODUCT = """import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    r, s, t = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
{descriptors}
    for tile in {tiles}:
        m, n = tile // tl.cdiv(N, BN) * BM, tile % tl.cdiv(N, BN) * BN
        acc = tl.zeros((BM, BN), {sum})
        for k in range(0, K, BK):
            x = {left}
            y = {right}
{between}
            acc = tl.dot(x, y, acc{precision})
        {store}
"""
# Two products a step, of which the second takes what the first gives: attention, or less.
CHAIN = """import triton
import triton.language as tl


@triton.jit
def kernel(a, b, v, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    r, s, t = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
{descriptors}
    m = tl.program_id(0) * BM
    k = 0
    x = {left}
    acc = tl.zeros((BM, BK), tl.float32)
    most = tl.full((BM,), -1000.0, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for n in range(0, N, BN):
        y = {right}
        weights = tl.dot(x, y{precision}) * 0.125
{between}
        z = {values}
        acc = tl.dot(weights.to(x.dtype), z, acc{precision})
{end}
    tl.store(c + (m + r[:, None]) * K + t[None, :], acc, mask=(m + r[:, None] < M) & (t[None, :] < K))
"""
SOFTMAX = """        weights = tl.where(n + s[None, :] < N, weights, -1000.0)
        higher = tl.maximum(most, tl.max(weights, 1))
        weights = tl.exp2(weights - higher[:, None])
        shrink = tl.exp2(most - higher)
        total = total * shrink + tl.sum(weights, 1)
        acc = acc * shrink[:, None]
        most = higher"""


def made(rng):
    """(text, grid, constants, arguments, options)"""
    is_chain = rng.random() < 0.4
    dtype = rng.choice(["f16", "f16", "bf16", "f32"] if is_chain else ["f16", "f16", "f16", "bf16", "f32", "f8e4nv", "f8e5", "i8"])
    size = {"f16": 2, "bf16": 2, "f32": 4}.get(dtype, 1)
    bm, bn = rng.choice([16, 64, 64, 128, 128]), rng.choice([16, 32, 64, 128, 256])
    bk = rng.choice([16, 32, 64, 128]) * (1 if size > 1 else 2)
    if size * (bm + bn) * bk > 65536:
        bk //= 2
    warps = rng.choice([4, 4, 8])
    if is_chain and rng.random() < 0.5:  # long enough that warp groups take turns
        bm, bn, bk, warps, dtype, size = 128, 128, 128, 8, rng.choice(["f16", "bf16"]), 2
    M, N = rng.choice([bm, 2 * bm, bm + 8]), rng.choice([bn, 2 * bn, bn + 16])
    if is_chain:
        K, N = bk, bn * rng.choice([1, 3, 5, 7]) + rng.choice([0, 16])
    else:
        K = bk * rng.choice([1, 2, 4, 5, 8]) + rng.choice([0, 0, 16])
    is_turned = rng.random() < 0.5 or size == 1  # b lies as N x K
    order = ("n", "k") if is_turned else ("k", "n")
    rows, columns = {"n": (bn, N), "k": (bk, K)}[order[0]], {"n": (bn, N), "k": (bk, K)}[order[1]]
    way = rng.choice(["descriptors", "made", "pointers"])
    turn = ".T" if is_turned else ""
    is_left_turned = not is_chain and dtype == "f32" and rng.random() < 0.4  # a lies as K x M
    left_turn = ".T" if is_left_turned else ""
    a_shape, a_block = ((K, M), (bk, bm)) if is_left_turned else ((M, K), (bm, bk))
    arguments = {"a": f"randn({a_shape[0]}x{a_shape[1]},{dtype})", "b": f"randn({rows[1]}x{columns[1]},{dtype})"}
    descriptors = ""
    if dtype == "i8":
        arguments = {"a": f"iota({M}x{K},i8)", "b": f"iota({rows[1]}x{columns[1]},i8)"}
    if way == "pointers":
        left = ("tl.load(a + (k + t[:, None]) * M + m + r[None, :], mask=(k + t[:, None] < K) & (m + r[None, :] < M), other=0)"
                if is_left_turned else "tl.load(a + (m + r[:, None]) * K + k + t[None, :], mask=(m + r[:, None] < M) & (k + t[None, :] < K), other=0)") + left_turn
        right = ("tl.load(b + (n + s[:, None]) * K + k + t[None, :], mask=(n + s[:, None] < N) & (k + t[None, :] < K), other=0)"
                 if is_turned else "tl.load(b + (k + t[:, None]) * N + n + s[None, :], mask=(k + t[:, None] < K) & (n + s[None, :] < N), other=0)") + turn
    else:
        left, right = f"x_desc.load([{'k, m' if is_left_turned else 'm, k'}]){left_turn}", f"y_desc.load([{order[0]}, {order[1]}]){turn}"
        if way == "made":
            extents = {"n": "N", "k": "K"}
            a_names, a_blocks = ("KM", "BK, BM") if is_left_turned else ("MK", "BM, BK")
            descriptors = (f"    x_desc = tl.make_tensor_descriptor(a, [{a_names[0]}, {a_names[1]}], [{a_names[1]}, 1], [{a_blocks}])\n    y_desc = tl.make_tensor_descriptor(b, "
                           f"[{extents[order[0]]}, {extents[order[1]]}], [{extents[order[1]]}, 1], [{rows[0]}, {columns[0]}])")
        else:
            descriptors = "    x_desc = a\n    y_desc = b"
            arguments["a"] = f"descriptor({arguments['a']},({a_block[0]},{a_block[1]}))"
            arguments["b"] = f"descriptor({arguments['b']},({rows[0]},{columns[0]}))"
    tiles = -(-M // bm) * -(-N // bn)
    precision = ', input_precision="tf32"' if dtype == "f32" else ""
    parts = dict(descriptors=descriptors, left=left, right=right, precision=precision)
    if is_chain:
        grid, out = -(-M // bm), f"zeros({M}x{K},f32)"
        is_softmax = rng.random() < 0.6
        has_values = rng.random() < 0.7
        if not has_values:
            values = "y.T"
        elif way == "pointers":
            values = "tl.load(v + (n + s[:, None]) * K + t[None, :], mask=(n + s[:, None] < N) & (t[None, :] < K), other=0)"
        else:
            values = "z_desc.load([n, 0])"
        if has_values and way == "made":
            parts["descriptors"] += "\n    z_desc = tl.make_tensor_descriptor(v, [N, K], [K, 1], [BN, BK])"
        elif has_values and way == "descriptors":
            parts["descriptors"] += "\n    z_desc = v"
        arguments["v"] = f"randn({N}x{K},{dtype})"
        if way == "descriptors":
            arguments["v"] = f"descriptor({arguments['v']},({bn},{bk}))"
        text = CHAIN.format(**parts, values=values, between=SOFTMAX if is_softmax else "", end="    acc = acc / total[:, None]" if is_softmax else "")
    else:
        is_persistent = rng.random() < 0.5
        grid, out = rng.choice([1, max(1, tiles - 1)]) if is_persistent else tiles, f"{M}x{N}"
        flatten = rng.choice(["", ", flatten=True"])
        between = rng.choice(["", "", "            x = x + x", "            y = y + y"]) if size == 2 else ""
        store = "tl.store(c + (m + r[:, None]) * N + n + s[None, :], acc, mask=(m + r[:, None] < M) & (n + s[None, :] < N))"
        if way == "made" and rng.random() < 0.6 and (N * 4) % 16 == 0:
            store = "tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN]).store([m, n], acc)"
            if rng.random() < 0.5:  # once for all tiles
                parts["descriptors"] += "\n    z_desc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])"
                store = "z_desc.store([m, n], acc)"
        out = f"zeros({out},{'i32' if dtype == 'i8' else rng.choice(['f32', 'f16']) if way == 'descriptors' else 'f32'})"
        if way == "descriptors" and rng.random() < 0.7:
            out, store = f"descriptor({out},({bm},{bn}))", "c.store([m, n], acc.to(c.dtype))"
        text = PRODUCT.format(**parts, sum="tl.int32" if dtype == "i8" else "tl.float32", between=between, store=store,
                              tiles=f"tl.range(tl.program_id(0), {tiles}, tl.num_programs(0){flatten})" if is_persistent else "range(tl.program_id(0), "
                              "tl.program_id(0) + 1)")
    arguments.update(c=out, M=M, N=N, K=K)
    options = ["--num-warps", warps, "--num-stages", rng.choice([1, 2, 3, 4])]
    return text, grid, dict(BM=bm, BN=bn, BK=bk), arguments, [str(option) for option in options]


def flat(data):
    return [number for row in data for number in flat(row)] if isinstance(data, list) else [float(data)]


def main():
    nereid, seed, numbers = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    first, last = (int(part) for part in numbers.split("-")) if "-" in numbers else (0, int(numbers))
    wrong = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.py"
        for number in range(first, last):
            text, grid, constants, arguments, options = made(random.Random(seed * 1000 + number))
            path.write_text(text)
            words = [word for name, value in arguments.items() for word in ("--arg", f"{name}={value}")]
            words += [word for name, value in constants.items() for word in ("--const", f"{name}={value}")]
            answers = []
            for device in ("ref", "cuda:0"):
                done = subprocess.run([nereid, "run", f"{path}:kernel", "--device", device, "--grid", f"({grid},)", *options, *words, "--json", "--print", "c"],
                                      capture_output=True, text=True)
                answers.append(flat(json.loads(done.stdout)["outputs"]["c"]["data"]) if done.returncode == 0 else done.stderr)
            if "[SharedMemory]" in answers[1]:
                refused += 1
                continue
            # What is loaded, kept or multiplied wrongly differs by whole numbers; roundings of the parts of a sum do not.
            if isinstance(answers[0], str) or isinstance(answers[1], str):
                difference = "an error"
            else:
                most = max(map(abs, answers[0]))
                difference = max(abs(x - y) for x, y in zip(*answers)) / most if most else 1
            if difference == "an error" or not difference < 0.01:
                wrong += 1
                print(f"seed {seed}, number {number}: {difference}\n{text}\n{words} {options} grid {grid}", *(str(answer)[:900] for answer in answers), sep="\n")
    print(f"{last - first - wrong - refused} of {last - first - refused} agree")


main()
