#!/usr/bin/env python3
"""Triton's tutorials as they are, through the Python package and under Triton, in turn on one GPU.

    bench/tutorials.py FOLDER [--only 01,02,03,05,06,09] [--match REGEX] [--turns 1] [--package FOLDER] [--keep TEXT] [--seconds 0.2] [--jobs 16] [--out rows.jsonl]

FOLDER has the tutorials of a checkout of Triton, which is installed, as is torch. Every kernel is compiled first, on all cores: each program runs once
with a cache on disk that the timed one finds. Then the two are timed one after the other. A time is the median of launches between two events of the stream,
each behind a write of 256 MB that empties the second-level cache; each one's own autotuner chooses configurations. `first ms` is the first call of a
kernel in the timed process: the autotuner with what the disk has. --cold times that call with nothing on disk, of tutorial 03 alone. --match takes the rows whose name a regular expression finds, --turns N times each
program N times, in turns: a time is the median, a ratio the median of the turns'.
--keep leaves those configurations to the autotuners of both of which a Python expression holds, over what a configuration binds:
"BLOCK_M == 128 and num_warps == 8".

A line a row: microseconds, Tflop/s or GB/s, Triton's time over Nereid's, and a library's over Nereid's: above 1, Nereid is faster.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PROGRAM = r'''
import functools, importlib.util, json, os, re, statistics, sys, time
import torch
import triton
import triton.testing

which, folder, seconds, quick = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4] == "1"
part, parts, keep, match = int(sys.argv[5]), int(sys.argv[6]), sys.argv[7], sys.argv[8]
triton.testing.Mark.run = lambda *words, **options: None  # what a tutorial measures of itself
if quick:
    triton.testing.do_bench = lambda fn, *words, quantiles=None, **options: (fn(), [1.0] * len(quantiles) if quantiles else 1.0)[1]
if keep:
    tuner = triton.autotune
    bound = lambda config: dict(config.kwargs, num_warps=config.num_warps, num_stages=config.num_stages)
    triton.autotune = lambda configs, *words, **options: tuner([one for one in configs if eval(keep, bound(one))] or configs, *words, **options)
torch.manual_seed(0)
flush = torch.empty(1 << 28, dtype=torch.int8, device="cuda")
peer = not triton.__name__.startswith("nereid") and "nereid" not in sys.modules


def load(number):
    name = next(one for one in sorted(os.listdir(folder)) if one.startswith(number))
    if number == "01":
        name = "01-vector-add.py"
    if number == "02":
        name = "02-fused-softmax.py"
    if number == "03":
        name = "03-matrix-multiplication.py"
    spec = importlib.util.spec_from_file_location("tutorial" + number, os.path.join(folder, name))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def time_of(call):
    spent, all_of_them = 0.0, []
    call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    host = time.perf_counter() - start
    torch.cuda.synchronize()
    while len(all_of_them) < 5 or spent < seconds and len(all_of_them) < 100:
        # The GPU waits for as long as the host takes to launch, or a short kernel's time would be the host's.
        torch.cuda._sleep(int((2 * min(host, 1e-3) + 30e-6) * 1.98e9))
        flush.zero_()
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        all_of_them.append(begin.elapsed_time(end) * 1e-3)
        spent += all_of_them[-1]
    return statistics.median(all_of_them)


count = 0


def row(name, build, flops=0, bytes=0):
    """`build` makes the tensors, and gives the tutorial's call and a library's, or None. Rows of other parts take no memory."""
    global count
    if not re.search(match, name):
        return
    count += 1
    if (count - 1) % parts != part:
        return
    found = dict(tutorial=which, name=name, flops=flops, bytes=bytes)
    try:
        call, library = build()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        found["first"] = time.perf_counter() - start
        if not quick:
            found["seconds"] = time_of(call)
            if library and peer:
                found["library"] = time_of(library)
    except Exception as error:
        found["failure"] = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps(found), flush=True)


def draw(*shape, dtype=torch.float16):
    return torch.randn(shape, device="cuda", dtype=torch.float32 if dtype.itemsize == 1 else dtype).to(dtype)


def vector_add(module):
    for n in (1 << 20, 1 << 24, 1 << 28):
        def build():
            x, y = draw(n, dtype=torch.float32), draw(n, dtype=torch.float32)
            return lambda: module.add(x, y), lambda: x + y
        row(f"add f32 {n}", build, bytes=12 * n)


def softmax(module):
    for m, n in ((16384, 781), (16384, 4096), (8192, 16384)):
        def build():
            x = draw(m, n, dtype=torch.float32)
            return lambda: module.softmax(x), lambda: torch.softmax(x, 1)
        row(f"softmax f32 {m} x {n}", build, bytes=8 * m * n)


def products(module):
    # The tutorial's result is f16 whatever its operands are.
    for dtype, sizes in ((torch.float16, (1024, 2048, 4096, 8192)), (torch.bfloat16, (1024, 2048, 4096, 8192)), (torch.float8_e5m2, (4096, 8192))):
        for n in sizes:
            def build():
                a, b = draw(n, n, dtype=dtype), draw(n, n, dtype=dtype)
                if dtype.itemsize == 1:
                    b = b.T
                return lambda: module.matmul(a, b), (lambda: a @ b) if dtype.itemsize > 1 else None
            row(f"product {str(dtype)[6:]} {n}^3", build, flops=2 * n**3)


def norms(module):
    for m, n in ((4096, 1024), (4096, 4096), (4096, 8192), (16384, 4096)):
        def build(backward):
            w, b = (torch.rand(n, device="cuda", dtype=torch.float16).requires_grad_() for _ in "wb")
            x, dy = draw(m, n).requires_grad_(), draw(m, n)
            calls = lambda: module.layer_norm(x, (n,), w, b, 1e-5), lambda: torch.nn.functional.layer_norm(x, (n,), w, b, 1e-5)
            if not backward:
                return calls
            y, z = calls[0](), calls[1]()
            return (lambda: torch.autograd.grad(y, (x, w, b), dy, retain_graph=True)), (lambda: torch.autograd.grad(z, (x, w, b), dy, retain_graph=True))
        row(f"layer norm forward f16 {m} x {n}", lambda: build(False), bytes=4 * m * n)
        row(f"layer norm backward f16 {m} x {n}", lambda: build(True), bytes=6 * m * n)


def attention(module):
    for d in (64, 128):
        for n in (4096, 16384):
            for causal in (False, True):
                def build(backward):
                    q, k, v = (draw(4, 32, n, d).requires_grad_() for _ in "qkv")
                    calls = (lambda: module.attention(q, k, v, causal, d**-0.5, False),
                             lambda: torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal)[0])
                    if not backward:
                        return calls
                    do, out, other = draw(4, 32, n, d), calls[0](), calls[1]() if peer and not quick else None
                    return (lambda: torch.autograd.grad(out, (q, k, v), do, retain_graph=True)), (lambda: torch.autograd.grad(other, (q, k, v), do, retain_graph=True))
                words = f"D = {d}, {n}{', causal' if causal else ''}"
                flops = 4 * 4 * 32 * n * n * d // (2 if causal else 1)
                row(f"attention forward {words}", lambda: build(False), flops=flops)
                row(f"attention backward {words}", lambda: build(True), flops=flops * 5 // 2)


def persistent(module):
    calls = dict(naive=lambda a, b: module.matmul(a, b.T), descriptors=lambda a, b: module.matmul_tma(a, b, False), persistent=lambda a, b: module.matmul_persistent(a, b.T))
    calls["persistent descriptors"] = lambda a, b: module.matmul_tma_persistent(a, b, False)
    calls["descriptors made in it"] = lambda a, b: module.matmul_descriptor_persistent(a, b, False)
    for dtype in (torch.float16, torch.float8_e4m3fn):
        for m, k in ((8192, 512), (8192, 8192)):
            for name, call in calls.items():
                def build():
                    a, b, one = draw(m, k, dtype=dtype), draw(m, k, dtype=dtype), torch.ones((), device="cuda")
                    library = (lambda: a @ b.T) if dtype == torch.float16 else (lambda: torch._scaled_mm(a, b.T, one, one, out_dtype=torch.float16))
                    return lambda: call(a, b), library
                row(f"{name} {str(dtype)[6:]} {m} x {m} x {k}", build, flops=2 * m * m * k)


{"01": vector_add, "02": softmax, "03": products, "05": norms, "06": attention, "09": persistent}[which](load(which))
'''


def middle(rows):
    """The row of a program's turns; `turns` has each one's time."""
    times = [row["seconds"] for row in rows if "seconds" in row]
    found = dict(rows[0], turns=times)
    if len(times) == len(rows):
        found["seconds"] = statistics.median(times)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="01,02,03,05,06,09")
    parser.add_argument("--package", help="the folder that holds `nereid`; by default it is installed")
    parser.add_argument("--keep", default="")
    parser.add_argument("--match", default="")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.2, help="of launches for a row")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs that compile at once")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--out", default="tutorials.jsonl")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program.py"
        program.write_text(PROGRAM)

        def run(who, which, quick, part=0, parts=1, cache="cache"):
            command = [sys.executable, *(["-m", "nereid"] if who == "nereid" else []), str(program), which, options.folder, str(options.seconds), str(int(quick)), str(part), str(parts), options.keep, options.match]
            path = f"{folder}/{who}-{cache}"
            environment = dict(os.environ, NEREID_CACHE_DIR=path, TRITON_CACHE_DIR=path)
            if options.package:
                environment["PYTHONPATH"] = os.path.abspath(options.package)
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"tutorial"')]
            if done.returncode:
                print(f"{who}, tutorial {which}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}", flush=True)
            return rows

        if options.cold:
            for who in ("nereid", "triton"):
                rows = run(who, "03", True, cache="cold")
                if rows:
                    print(f"{who}: first product of tutorial 03, all configurations compiled: {rows[0]['first']:.2f} s", flush=True)
        numbers = options.only.split(",")
        # The rows of a tutorial, dealt out; the first three run much when they are imported.
        parts = {"06": 16, "09": 16}
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda words: run(*words), [(who, which, True, part, parts.get(which, 4)) for which in reversed(numbers) for part in range(parts.get(which, 4)) for who in ("triton", "nereid")]))
        print("compiled", flush=True)
        ratios = []
        with open(options.out, "w", buffering=1) as file:
            for which in numbers:
                turns = [{who: {row["name"]: row for row in run(who, which, False)} for who in ("nereid", "triton")} for _ in range(options.turns)]
                for name in turns[0]["nereid"]:
                    row, peer = (middle([turn[who].get(name, {}) for turn in turns]) for who in ("nereid", "triton"))
                    file.write(json.dumps(dict(row, triton=peer.get("seconds"), library=peer.get("library"), triton_failure=peer.get("failure"), triton_first=peer.get("first"))) + "\n")
                    if "seconds" not in row:
                        print(f"{which} {name}: {row['failure']}", flush=True)
                        continue
                    rate = f"{row['flops'] / row['seconds'] * 1e-12:7.0f} Tflop/s" if row["flops"] else f"{row['bytes'] / row['seconds'] * 1e-9:7.0f} GB/s   "
                    ratio = lambda other: f"{other / row['seconds']:6.2f}" if other else "     -"
                    each = [b / a for a, b in zip(row["turns"], peer.get("turns", []), strict=False)]
                    if peer.get("seconds"):
                        ratios.append((which, statistics.median(each)))
                    print(f"{which} {name:42} {row['seconds'] * 1e6:9.1f} us {rate} triton {ratio(peer.get('seconds'))} library {ratio(peer.get('library'))}"
                          + (f"   in turns {min(each):.3f} to {max(each):.3f}, median {statistics.median(each):.3f}" if len(each) > 1 else ""), flush=True)
        for which in numbers:
            some = [ratio for number, ratio in ratios if number == which]
            if some:
                print(f"{which}: geometric mean {math.exp(sum(map(math.log, some)) / len(some)):.3f} of {len(some)}, least {min(some):.2f}", flush=True)


if __name__ == "__main__":
    main()
