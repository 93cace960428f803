#!/usr/bin/env python3
"""What Triton's tutorials 01 to 09 compute, as they are, beside f64: through the Python package and under Triton.

    bench/tutorial_values.py FOLDER [--only 01,..,09] [--package FOLDER] [--who nereid,triton] [--seed N] [--jobs 16] [--keep 0] [--out FILE.json]

FOLDER has the tutorials of a checkout of Triton, which is installed, as is torch. A tutorial's own functions are called on fresh random inputs. All memory that
they take by `torch.empty` holds NaN (the largest integer) before each launch, and none of it may hold NaN behind it: an element that is not written shows. An
autotuned kernel is launched and compared in each of its configurations, --keep N takes at most N of them.

Every element is compared with a result of torch in f64. Its tolerance follows from the arithmetic that a tutorial asks for, not from what was seen:
u is half a unit of the result's type; a product summed in f32 may be off by (K / 8) 2^-22 sum |a b| (2^-13 (K / 32 + 1) for fp8, whose tensor cores keep 13 bits), and
a value that is rounded on the way carries its rounding to where it ends. `of bound` is the largest error by its tolerance: above 1 is wrong.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PROGRAM = r'''
import importlib.util, json, math, os, sys, traceback
import numpy as np
import torch
import triton
import triton.testing

number, folder, seed, keep, part, parts = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6])
triton.testing.Mark.run = lambda *words, **options: None  # what a tutorial measures of itself
torch.backends.cuda.matmul.allow_tf32 = False
empty, empty_like, tuner = torch.empty, torch.empty_like, triton.autotune
made = []       # what a call has taken by torch.empty since it began
compare = None  # of the call under way: says what is wrong with what it made
device = triton.runtime.driver.active.get_active_torch_device()


def poison(tensor):
    if tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1:
        tensor.view(torch.uint8).fill_(0x7F)
    elif tensor.dtype.is_floating_point:
        tensor.fill_(math.nan)
    elif not tensor.dtype.is_complex and tensor.dtype != torch.bool:
        tensor.fill_(torch.iinfo(tensor.dtype).max)
    return tensor


def keeping(real):
    def make(*words, **options):
        tensor = poison(real(*words, **options))
        made.append(tensor)
        return tensor
    return make


def launched(call, quantiles=None, **_):
    """In place of a measurement: a launch on poisoned memory, compared."""
    for tensor in made:
        poison(tensor)
    call()
    if compare:
        compare()
    return [1.0] * len(quantiles) if quantiles else 1.0


def autotune(configs, *words, **options):
    configs = list(configs)
    if keep and len(configs) > keep:
        configs = configs[::-(-len(configs) // keep)]
    return tuner(configs, *words, do_bench=launched, **options)


triton.autotune = autotune


def load():
    name = next(one for one in sorted(os.listdir(folder)) if one.startswith(number) and "cpu" not in one)
    spec = importlib.util.spec_from_file_location("tutorial" + number, os.path.join(folder, name))
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # its kernels are there all the same: 07 looks for a library beside its checkout
        print(f"{name}: {type(error).__name__}: {error}"[:300], file=sys.stderr)
    return module


count = 0


def case(name, call, *pairs, get=None):
    """`call` is compared with `pairs` of (f64 result, tolerance); `get` takes the results from what it made, for each configuration, else from what it returns."""
    global compare, count
    count += 1
    if (count - 1) % parts != part:
        return
    found = dict(tutorial=number, name=name, launches=0, of_bound=0.0, error=0.0, nan=0)
    pairs = [(want.double(), bound) for want, bound in (pairs[0]() if pairs and callable(pairs[0]) else pairs)]

    def look(results):
        found["launches"] += 1
        if device.type == "cuda":
            torch.cuda.synchronize()
        found["nan"] += sum(int(one.double().isnan().sum()) for one in made if one.dtype.is_floating_point)
        for seen, (want, bound) in zip(results, pairs, strict=True):
            error = (seen.double() - want).abs()
            ratio = error / bound
            found["error"] = max(found["error"], error.nan_to_num(math.inf).max().item())
            found["of_bound"] = max(found["of_bound"], ratio.nan_to_num(math.inf, posinf=math.inf).max().item())

    compare = (lambda: look(get(made))) if get else None
    made.clear()
    try:
        torch.empty, torch.empty_like = keeping(empty), keeping(empty_like)
        result = call()
        torch.empty, torch.empty_like = empty, empty_like
        compare = None
        look(result if isinstance(result, (tuple, list)) else [result])
        # JSON has no infinity.
        found.update(passed=found["of_bound"] <= 1 and not found["nan"], of_bound=min(found["of_bound"], 1e30), error=min(found["error"], 1e30))
    except Exception as error:
        traceback.print_exc()
        found.update(passed=False, failure=f"{type(error).__name__}: {error}"[:300])
    finally:
        torch.empty, torch.empty_like, compare = empty, empty_like, None
    print(json.dumps(found), flush=True)


def draw(*shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(shape, device=device, dtype=torch.float32) * scale).to(dtype)


UNIT = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float8_e4m3fn: 2.0**-4, torch.float8_e5m2: 2.0**-3}
LEAST = {torch.float32: 2.0**-149, torch.float16: 2.0**-25, torch.bfloat16: 2.0**-134, torch.float8_e4m3fn: 2.0**-10, torch.float8_e5m2: 2.0**-17}


def rounded(want, bound, dtype):
    """The tolerance of a value of that tolerance, rounded."""
    return bound + UNIT[dtype] * (want.abs() + bound) + LEAST[dtype]


def product(a, b, out, then=lambda x: x):
    """a @ b in f64, and its tolerance."""
    a, b, fp8 = a.double(), b.double(), a.dtype.itemsize == 1
    want, size, K = a @ b, a.abs() @ b.abs(), a.shape[1]
    bound = size * ((K / 32 + 1) * 2.0**-13 if fp8 else K / 8 * 2.0**-22 + 2.0**-22)
    want = then(want)
    return want, rounded(want, bound, out)


def vector_add(module):
    for n in (1, 1000, 98432, (1 << 20) + 17):
        for dtype in (torch.float32, torch.float16):
            x, y = draw(n, dtype=dtype), draw(n, dtype=dtype)
            want = x.double() + y.double()
            case(f"add {str(dtype)[6:]} {n}", lambda: module.add(x, y), (want, rounded(want, 0 * want, dtype)))


def softmax(module):
    for m, n in ((1823, 781), (37, 4096), (128, 16384), (5, 127)):
        x = draw(m, n, scale=3)
        want = torch.softmax(x.double(), 1)
        far = x.double().amax(1, keepdim=True) - x.double()
        # x log2(e) is rounded before 2^x; then 2^x, the sum and the quotient.
        case(f"softmax f32 {m} x {n}", lambda: module.softmax(x), (want, want * (2 * far + 2 * far.amax() + 16 + math.log2(n)) * 2.0**-23 + 2.0**-126))


def products(module):
    for m, n, k in ((512, 512, 512), (1000, 776, 328), (129, 65, 33), (16, 2048, 1000)):
        for dtype in (torch.float16, torch.bfloat16, torch.float8_e5m2):
            if dtype.itemsize == 1 and k % 16:
                continue
            a, b = draw(m, k, dtype=dtype), draw(n, k, dtype=dtype).T if dtype.itemsize == 1 else draw(k, n, dtype=dtype)
            case(f"product {str(dtype)[6:]} {m} x {n} x {k}", lambda: module.matmul(a, b), lambda: [product(a, b, torch.float16)], get=lambda made: made[:1])
    a, b = draw(512, 384, dtype=torch.float16), draw(384, 256, dtype=torch.float16)
    leaky = lambda x: torch.where(x >= 0, x, 0.01 * x)
    case("product float16 512 x 256 x 384, leaky ReLU", lambda: module.matmul(a, b, activation="leaky_relu"), lambda: [product(a, b, torch.float16, leaky)], get=lambda made: made[:1])


def philox(seed, n):
    """The first word of Philox 4x32-10 of the counters (i, 0, 0, 0)."""
    c = [np.arange(n, dtype=np.uint64)] + [np.zeros(n, np.uint64)] * 3
    k0, k1, mask = seed & 0xFFFFFFFF, seed >> 32, np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        high = lambda p: p >> np.uint64(32)
        c = [high(p1) ^ c[1] ^ np.uint64(k0), p1 & mask, high(p0) ^ c[3] ^ np.uint64(k1), p0 & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c[0].astype(np.uint32)


def dropout(module):
    for n in (10, 98432):
        x, p = draw(n), 0.3
        kept = (torch.rand(n, device=device) > p).to(torch.int32)
        scaled = x.double() / (1 - p)
        # p is an f32 in the kernel.
        bound = lambda want: want.abs() * 3 * 2.0**-24 + 2.0**-126
        want = torch.where(kept != 0, scaled, 0.0)
        case(f"dropout {n}", lambda: module.dropout(x, kept, p), (want, bound(want)))
        number = int(torch.randint(1 << 31, (1,)))
        bits = philox(number, n).astype(np.int32)
        uniform = np.where(bits < 0, -bits - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)
        want = torch.where(torch.from_numpy(uniform).to(device) > np.float32(p), scaled, 0.0)
        case(f"seeded dropout {n}", lambda: module.seeded_dropout(x, p, number), (want, bound(want)))


def norms(module):
    for m, n in ((1151, 8192), (64, 1000), (300, 4096), (3, 16384)):
        f16, eps = torch.float16, 1e-5
        w, b = (torch.rand(n, device=device).to(f16).requires_grad_() for _ in "wb")
        x = (draw(m, n, scale=0.5) - 2.3).to(f16).requires_grad_()
        dy = draw(m, n, dtype=f16, scale=0.1)

        def call():
            y = module.layer_norm(x, (n,), w, b, eps)
            return [y, *torch.autograd.grad(y, (x, w, b), dy)]

        def wanted():
            X, W, B, D = (one.detach().double() for one in (x, w, b, dy))
            mean = X.mean(1, keepdim=True)
            rstd = ((X - mean).square().mean(1, keepdim=True) + eps).rsqrt()
            hat = (X - mean) * rstd
            # The mean is a sum of n values in f32, each thread's part in order.
            deep = (n / 32 + 16) * 2.0**-24
            off = deep * (X.abs().mean(1, keepdim=True) * rstd + 2 * hat.abs() + 1)
            y = hat * W + B
            wdy = D * W
            c1, c2 = (hat * wdy).mean(1, keepdim=True), wdy.mean(1, keepdim=True)
            dx = (wdy - hat * c1 - c2) * rstd
            size = (wdy.abs() + hat.abs() * (hat * wdy).abs().mean(1, keepdim=True) + wdy.abs().mean(1, keepdim=True)) * rstd
            dx_off = deep * 4 * size + rstd * (off * c1.abs() + hat.abs() * (off * wdy.abs()).mean(1, keepdim=True))
            # Sums of rows: each group's is rounded to f16 behind every row, in an order that is free. Eight standard deviations of those roundings.
            groups = min(m, 64 if n > 8192 else 96 if n > 4096 else 128 if n > 1024 else 256)
            rows = -(-m // groups)
            results = [(y, rounded(y, W.abs() * off + deep * (hat * W).abs(), f16)), (dx, rounded(dx, dx_off, f16))]
            for terms, more in ((D * hat, D.abs() * off), (D, 0 * D)):
                want, step = terms.sum(0), terms.square().mean(0).sqrt()
                noise = 2.0**-11 * step * math.sqrt(groups * rows * (rows + 1) / 6)
                first = 2.0**-11 * terms.abs().amax(0)
                results.append((want, rounded(want, 8 * (noise + first) + more.sum(0) + m * 2.0**-24 * terms.abs().sum(0), f16)))
            return results

        case(f"layer norm f16 {m} x {n}: y, dx, dw, db", call, wanted)


def attention(module):
    for d in (64, 128):
        for n in (128, 1024, 2048):
            for causal in (False, True):
                f16, scale = torch.float16, 0.5 if n <= 1024 else d**-0.5
                q, k, v = (draw(1, 3, n, d, dtype=f16, scale=0.5).requires_grad_() for _ in "qkv")
                do = draw(1, 3, n, d, dtype=f16)

                def forward():
                    Q, K, V = (one.detach().double() for one in (q, k, v))
                    s = Q @ K.mT * scale
                    if causal:
                        s = s.masked_fill(torch.ones(n, n, device=device).tril() == 0, -math.inf)
                    p = torch.softmax(s, -1)
                    o = p @ V
                    # P is rounded to f16, its exponent is a sum of d products and log2(e) times it, in f32.
                    reach = (Q.abs() @ K.abs().mT * scale) * (d / 8 + 4) * 2.0**-22 + 2.0**-20
                    reach = reach + (p * reach).sum(-1, keepdim=True)
                    return Q, K, V, p, o, ((p * (2.0**-11 + 2.0**-24 * n / 8 + reach)) @ V.abs()), reach

                def out():
                    *_, o, bound, _ = forward()
                    return [(o, rounded(o, bound, f16))]

                def gradients():
                    Q, K, V, p, o, bound, reach = forward()
                    D = do.double()
                    dp, delta = D @ V.mT, (o * D).sum(-1, keepdim=True)
                    ds = p * (dp - delta)
                    sums = n / 8 * 2.0**-22
                    # The backward pass takes k scale log2(e) in f16, and o in f16 for delta.
                    p_off = p * (Q.abs() @ K.abs().mT * scale * 2.0**-11 + reach)
                    delta_off = ((bound + 2.0**-11 * o.abs()) * D.abs()).sum(-1, keepdim=True) + 2.0**-22 * (o * D).abs().sum(-1, keepdim=True)
                    dp_off = (D.abs() @ V.abs().mT) * d / 8 * 2.0**-22
                    ds_off = p_off * (dp - delta).abs() + p * (delta_off + dp_off) + ds.abs() * 2.0**-11
                    dv, dv_off = p.mT @ D, (p_off + p * (2.0**-11 + sums)).mT @ D.abs()
                    dk, dk_off = ds.mT @ Q * scale, (ds_off + sums * ds.abs()).mT @ Q.abs() * scale
                    dq, dq_off = ds @ K * scale, (ds_off + (sums + 2.0**-11) * ds.abs()) @ K.abs() * scale
                    return [(one, rounded(one, off, f16)) for one, off in ((dq, dq_off), (dk, dk_off), (dv, dv_off))]

                words = f"D = {d}, {n}{', causal' if causal else ''}"
                # What it makes first is the result.
                case(f"attention forward {words}", lambda: module.attention(q, k, v, causal, scale, False), out, get=lambda made: made[:1])
                case(f"attention gradients {words}", lambda: torch.autograd.grad(module.attention(q, k, v, causal, scale, False), (q, k, v), do), gradients)


def extern(module):
    for n in (98432, 1000):
        x = torch.rand(n, device=device) * 2 - 1
        want = torch.asin(x.double())

        def call():
            out = torch.empty_like(x)
            module.asin_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK_SIZE=1024)
            return out

        case(f"asin {n}", call, (want, want.abs() * 8 * 2.0**-24 + 2.0**-126))  # libdevice: 2 units, of which one is up to four halves


def grouped(module):
    sizes = [(1024, 1024, 1024), (512, 256, 384), (256, 512, 128), (128, 128, 640)]
    f16 = torch.float16
    a, b = [draw(m, k, dtype=f16) for m, n, k in sizes], [draw(k, n, dtype=f16) for m, n, k in sizes]
    case("four products f16", lambda: module.group_gemm_fn(a, b), lambda: [product(x, y, f16) for x, y in zip(a, b)], get=lambda made: made[:4])
    if module.supports_tma():
        for dtype in (f16, torch.float8_e4m3fn):
            a, b = [draw(m, k, dtype=dtype) for m, n, k in sizes], [draw(n, k, dtype=dtype) for m, n, k in sizes]
            case(f"four products {str(dtype)[6:]} by descriptors", lambda: module.group_gemm_tma_fn(a, b), lambda: [product(x, y.T, dtype) for x, y in zip(a, b)], get=lambda made: made[:4])


def persistent(module):
    calls = dict(naive=lambda a, b: module.matmul(a, b.T), persistent=lambda a, b: module.matmul_persistent(a, b.T))
    calls["descriptors"] = lambda a, b: module.matmul_tma(a, b, False)
    calls["persistent descriptors"] = lambda a, b: module.matmul_tma_persistent(a, b, False)
    calls["descriptors made in it"] = lambda a, b: module.matmul_descriptor_persistent(a, b, False)
    for dtype in (torch.float16, torch.float8_e4m3fn):
        for m, n, k in ((512, 768, 512), (1040, 784, 336), (32, 32, 32)):
            for name, call in calls.items():
                a, b = draw(m, k, dtype=dtype), draw(n, k, dtype=dtype)
                case(f"{name} {str(dtype)[6:]} {m} x {n} x {k}", lambda: call(a, b), lambda: [product(a, b.T, dtype)], get=lambda made: made[:1])


module = load()
torch.manual_seed(seed)
{"01": vector_add, "02": softmax, "03": products, "04": dropout, "05": norms, "06": attention, "07": extern, "08": grouped, "09": persistent}[number](module)
'''


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="01,02,03,04,05,06,07,08,09")
    parser.add_argument("--package", help="the folder that holds `nereid`; by default it is installed")
    parser.add_argument("--who", default="nereid,triton")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=int, default=0, help="configurations of an autotuned kernel, 0 for all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=300, help="seconds for a program")
    parser.add_argument("--out", default="tutorial-values.json")
    options = parser.parse_args()
    parts = {"06": 6, "09": 10, "03": 4}
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program.py"
        program.write_text(PROGRAM)

        def run(who, which, part):
            command = [sys.executable, *(["-m", "nereid"] if who == "nereid" else []), str(program), which, options.folder, str(options.seed), str(options.keep), str(part), str(parts.get(which, 1))]
            environment = dict(os.environ, NEREID_CACHE_DIR=f"{folder}/{who}", TRITON_CACHE_DIR=f"{folder}/{who}")
            if options.package:
                environment["PYTHONPATH"] = os.path.abspath(options.package)
            try:
                done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=options.limit)
                out, code, words = done.stdout, done.returncode, done.stderr
            except subprocess.TimeoutExpired as late:
                out, code, words = (late.stdout or b"").decode(), 124, "it ran into the limit"
            rows = [json.loads(line) for line in out.splitlines() if line.startswith('{"tutorial"')]
            if code:
                rows.append(dict(tutorial=which, name=f"part {part}", passed=False, failure=words.strip().splitlines()[-1] if words.strip() else f"exit code {code}"))
            return rows

        rows, order = {}, []
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            jobs = [(who, which, part) for who in options.who.split(",") for which in sorted(options.only.split(","), key=lambda one: -parts.get(one, 1)) for part in range(parts.get(which, 1))]
            for (who, which, part), found in zip(jobs, pool.map(lambda job: run(*job), jobs)):
                for row in found:
                    key = row["tutorial"], row["name"]
                    if key not in rows:
                        order.append(key)
                    rows.setdefault(key, {})[who] = {name: value for name, value in row.items() if name not in ("tutorial", "name")}
    whole = dict(seed=options.seed, keep=options.keep, rows=[dict(tutorial=key[0], name=key[1], **rows[key]) for key in sorted(order, key=lambda one: one[0])])
    pathlib.Path(options.out).write_text(json.dumps(whole, indent=1) + "\n")

    def cell(row):
        if row is None:
            return "-"
        if "failure" in row:
            return "FAILED " + row["failure"][:120]
        return f"{row['of_bound']:.2g} of bound, error {row['error']:.2g}, {row['launches']} launches" + (f", {row['nan']} NaN" if row["nan"] else "") + ("" if row["passed"] else "  WRONG")

    for row in whole["rows"]:
        print(f"{row['tutorial']} {row['name']:52} " + " | ".join(f"{who} {cell(row.get(who))}" for who in options.who.split(",")))
    bad = 0
    for who in options.who.split(","):
        some = [row[who] for row in whole["rows"] if who in row]
        wrong = sum(not row["passed"] for row in some)
        print(f"{who}: {len(some) - wrong} of {len(some)} right, {sum(row.get('launches', 0) for row in some)} launches compared")
        bad += wrong if who == "nereid" else 0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
