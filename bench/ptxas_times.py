#!/usr/bin/env python3
"""What `ptxas` takes for the PTX of Triton and of Nereid of the same kernels: Triton's tutorials as they are, one configuration each.

    bench/ptxas_times.py FOLDER [--package FOLDER] [--ptxas PROGRAM] [--turns 5] [--out FILE.json] [--keep FOLDER]

FOLDER has the tutorials of a checkout of Triton, which is installed, as is torch; a GPU runs them to get the PTX. Both are then assembled by one `ptxas` with the same options, in turns, one at
a time. A time is the least processor time of the turns. Registers, spilled bytes and bytes of machine code stand beside it.
"""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import resource

PROGRAM = r'''
import importlib.util, os, sys
import torch, triton, triton.testing, triton.compiler

number, folder, where, keep = sys.argv[1:5]
triton.testing.Mark.run = lambda *words, **options: None
tuner = triton.autotune
bound = lambda config: dict(config.kwargs, num_warps=config.num_warps, num_stages=config.num_stages)
triton.autotune = lambda configs, *words, **options: tuner([one for one in configs if eval(keep, bound(one))][:1] if keep else configs[:1], *words, **options)
name = next(one for one in sorted(os.listdir(folder)) if one.startswith(number) and "cpu" not in one)
spec = importlib.util.spec_from_file_location("tutorial" + number, os.path.join(folder, name))
module = importlib.util.module_from_spec(spec)
made = []
kind = triton.compiler.CompiledKernel
make = kind.__init__


def keeping(self, *words, **options):
    make(self, *words, **options)
    made.append(self)


kind.__init__ = keeping
spec.loader.exec_module(module)  # what a tutorial runs of itself may be what is asked for below
draw = lambda *shape, dtype=torch.float16: torch.randn(shape, device="cuda", dtype=dtype)


def attention(d, causal):
    q, k, v = (draw(1, 2, 1024, d).requires_grad_() for _ in "qkv")
    out = module.attention(q, k, v, causal, 0.1, False)
    out.backward(torch.randn_like(out))  # the gradient of a sum is one number repeated, which the tutorial does not take


def norm():
    x, w, b = draw(256, 4096).requires_grad_(), draw(4096).requires_grad_(), draw(4096).requires_grad_()
    module.layer_norm(x, (4096,), w, b, 1e-5).sum().backward()


calls = {"01": {"": lambda: module.add(draw(100000, dtype=torch.float32), draw(100000, dtype=torch.float32))},
         "02": {"": lambda: module.softmax(draw(1000, 4080, dtype=torch.float32))},
         "03": {"": lambda: module.matmul(draw(512, 512, dtype=torch.bfloat16), draw(512, 1024, dtype=torch.bfloat16))}, "05": {"": norm},
         "06": {f" D={d}{' causal' if causal else ''}": lambda d=d, causal=causal: attention(d, causal) for d in (64, 128) for causal in (False, True)}}
for label, call in calls[number].items():
    if label:
        made.clear()
    call()
    torch.cuda.synchronize()
    for one in made:
        text = one.asm["ptx"]
        text = text if isinstance(text, str) else text.decode()
        kernel = getattr(one, "name", None) or one.metadata.name
        open(os.path.join(where, f"{number} {kernel}{label}.ptx"), "w").write(text)
'''

KEEP = {"03": "BLOCK_SIZE_M == 128 and BLOCK_SIZE_N == 256 and BLOCK_SIZE_K == 64", "06": "BLOCK_M == 128 and BLOCK_N == 64 and num_warps == 4"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--package", help="the folder that holds `nereid`; by default it is installed")
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--keep", help="a folder for the PTX; one that has it is taken as it is")
    parser.add_argument("--only-collect", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        top = pathlib.Path(options.keep or scratch)
        running = []
        for who in ("nereid", "triton"):
            where = top / who
            if where.exists() and any(where.iterdir()):
                continue
            where.mkdir(parents=True, exist_ok=True)
            for number in ("01", "02", "03", "05", "06"):
                code = "import nereid; nereid.install()\n" + PROGRAM if who == "nereid" else PROGRAM
                environment = dict(os.environ, NEREID_CACHE_DIR=f"{scratch}/cache", TRITON_CACHE_DIR=f"{scratch}/cache")
                if options.package:
                    environment["PYTHONPATH"] = os.path.abspath(options.package)
                running.append((who, number, subprocess.Popen([sys.executable, "-c", code, number, options.folder, str(where), KEEP.get(number, "")], env=environment,
                                                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)))
        for who, number, process in running:
            _, words = process.communicate()
            if process.returncode:
                print(f"{who}, tutorial {number}: {words.strip().splitlines()[-1:]}", flush=True)
        if options.only_collect:
            return 0
        rows = []
        for path in sorted((top / "triton").glob("*.ptx")):
            row = dict(name=path.stem)
            both = {who: top / who / path.name for who in ("nereid", "triton")}
            if not both["nereid"].exists():
                print(f"{path.stem}: no PTX of Nereid", flush=True)
                continue
            for turn in range(options.turns):
                for who in sorted(both, reverse=turn % 2):
                    before = resource.getrusage(resource.RUSAGE_CHILDREN)
                    done = subprocess.run([options.ptxas, "-lineinfo", "-v", f"--gpu-name={options.chip}", both[who], "-o", f"{scratch}/{who}.cubin"], capture_output=True, text=True)
                    after = resource.getrusage(resource.RUSAGE_CHILDREN)
                    if done.returncode:
                        row[who] = dict(failure=done.stderr[:200])
                        continue
                    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                    one = row.setdefault(who, dict(seconds=math.inf))
                    one["seconds"] = min(one["seconds"], spent)
                    one["registers"] = max(map(int, re.findall(r"Used (\d+) registers", done.stderr)), default=0)
                    one["spilled"] = sum(map(int, re.findall(r"(\d+) bytes spill stores", done.stderr)))
                    one["lines"] = both[who].read_text().count(";\n")
                    one["cubin"] = os.path.getsize(f"{scratch}/{who}.cubin")
            rows.append(row)
            a, b = row["nereid"], row["triton"]
            if "failure" in a or "failure" in b:
                print(f"{path.stem}: {a.get('failure')} {b.get('failure')}", flush=True)
                continue
            row["ratio"] = b["seconds"] / a["seconds"]
            print(f"{path.stem:44} nereid {a['seconds'] * 1e3:7.1f} ms, triton {b['seconds'] * 1e3:7.1f}: {row['ratio']:5.2f}   registers {a['registers']}, {b['registers']}; "
                  f"spilled {a['spilled']}, {b['spilled']}; lines {a['lines']}, {b['lines']}; cubin {a['cubin'] >> 10}, {b['cubin'] >> 10} KiB", flush=True)
        ratios = [row["ratio"] for row in rows if "ratio" in row]
        if ratios:
            sums = [sum(row[who]["seconds"] for row in rows if "ratio" in row) for who in ("nereid", "triton")]
            print(f"in all: nereid {sums[0]:.2f} s, triton {sums[1]:.2f} s; Triton's time over Nereid's: geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, least {min(ratios):.2f}")
        if options.out:
            pathlib.Path(options.out).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
