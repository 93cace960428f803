#!/usr/bin/env python3
"""Kernels of folders through the Python package and under Triton, on the same tensors' shapes, in turns on one GPU.

    bench/turns.py FOLDER... [--package FOLDER] [--match TEXT] [--variant NAME]... [--most SECONDS] [--turns 5] [--seconds 0.1] [--peers] [--prepare] [--out FILE.json]

Both are timed by bench/peers.py, in two programs that live at once and measure one after the other: each row in turns, so that what the machine does with its clocks meets both.
Each case runs in the variant and configuration that tuned.json has as its fastest. A time is the median of the turns, a ratio the median of the turns' ratios
(least and greatest beside it): above 1, Nereid is faster. --peers times what the specs name as well, in Triton's program. --most leaves out rows whose time in tuned.json is longer,
--prepare compiles into the caches on disk and times nothing.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

PROGRAM = r'''
import json, sys
import peers
import torch, triton

words = json.loads(sys.argv[1])
triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
rows = []
for path in words["folders"]:
    folder = peers.Folder(path)
    for task in folder.spec.get("tasks", {"": {}}):
        variants = {f"{task}.{name}" if task else name: v if isinstance(v, dict) else dict(run=v) for name, v in folder.field(task, "variants").items()}
        if words["variant"]:
            variants = {full: v for full, v in variants.items() if full in words["variant"] or full.split(".")[-1] in words["variant"]}
        for case in folder.field(task, "bench") or []:
            bindings = {k: v for k, v in case.items() if k not in ("label", "check")}
            chosen = peers.tuned_choice(folder, task, case)
            if words["match"] not in peers.label(case) or not chosen or chosen[0] not in variants or chosen[2] > words["most"]:
                continue
            torch.manual_seed(0)
            inputs = peers.call(folder.field(task, "inputs"), bindings)
            blanks = {k: v for k, v in inputs.items() if isinstance(v, peers.Tensor) and v.computed}
            try:
                if blanks:
                    before = folder.field(task, "prepare")
                    peers.prepare(folder, before, inputs, peers.call(folder.field(before, "outputs"), inputs, bindings) | blanks, bindings)
                outputs = peers.call(folder.field(task, "outputs"), inputs, bindings)
                run = folder.prepare(peers.call(variants[chosen[0]]["run"], chosen[1], inputs, outputs, bindings))
                run()
                torch.cuda.synchronize()
            except Exception as error:
                print(json.dumps(dict(name=f"{folder.path.name} {chosen[0]} {peers.label(case)}", failure=f"{type(error).__name__}: {error}"[:200])), flush=True)
                continue
            name = f"{folder.path.name} {chosen[0]} {peers.label(case)}"
            rows.append((name, run))
            if words["peers"]:
                data = {k: v.data if isinstance(v, peers.Tensor) else v for k, v in (inputs | bindings).items()}
                for who, text in (folder.field(task, "peers") or {}).items():
                    names = dict(torch=torch, F=torch.nn.functional, math=peers.math, unsupported=peers.unsupported, backward=peers.gradients(), **data)
                    rows.append((f"{name} | {who}", lambda text=text, names=names: eval(text, names)))
print(json.dumps(dict(ready=[name for name, _ in rows])), flush=True)
for line in sys.stdin:
    name, run = rows[int(line)]
    try:
        print(json.dumps(dict(name=name, seconds=peers.median(run, words["seconds"]))), flush=True)
    except Exception as error:
        print(json.dumps(dict(name=name, failure=f"{type(error).__name__}: {error}"[:200])), flush=True)
'''


class Program:
    def __init__(self, who, options):
        words = dict(folders=options.folders, match=options.match, variant=options.variant, seconds=options.seconds, most=options.most, peers=options.peers and who == "triton")
        here = os.path.dirname(os.path.abspath(__file__))
        environment = dict(os.environ)
        path = [here] + ([os.path.abspath(options.package)] if options.package else [])
        environment["PYTHONPATH"] = os.pathsep.join([*path, *filter(None, [environment.get("PYTHONPATH")])])
        program = "import nereid; nereid.install()\n" + PROGRAM if who == "nereid" else PROGRAM
        self.process = subprocess.Popen([sys.executable, "-c", program, json.dumps(words)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise SystemExit("a program ended")

    def ready(self):
        while "ready" not in (found := self.answer()):
            print(f"{found['name']}: {found['failure']}", flush=True)
        return found["ready"]

    def time(self, number):
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        return self.answer()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--package", help="the folder that holds `nereid`; by default it is installed")
    parser.add_argument("--match", default="")
    parser.add_argument("--variant", action="append", default=[])
    parser.add_argument("--most", type=float, default=math.inf)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    programs = {who: Program(who, options) for who in ("nereid", "triton")}
    ready = {who: program.ready() for who, program in programs.items()}
    rows, ratios = [], []
    for name in ready["nereid"] if not options.prepare else []:
        if name not in ready["triton"]:
            print(f"{name}: not under Triton", flush=True)
            continue
        numbers = {who: ready[who].index(name) for who in programs}
        seen = {who: [] for who in programs}
        for turn in range(options.turns):
            for who in sorted(programs, reverse=turn % 2):
                seen[who].append(programs[who].time(numbers[who]))
        row = dict(name=name)
        for who, found in seen.items():
            times = [one["seconds"] for one in found if "seconds" in one]
            row[who] = statistics.median(times) if len(times) == options.turns else None
            row[who + "_turns"] = times
        if not row["nereid"] or not row["triton"]:
            print(f"{name}: {next((one['failure'] for found in seen.values() for one in found if 'failure' in one), '')}", flush=True)
            continue
        each = [b / a for a, b in zip(row["nereid_turns"], row["triton_turns"])]
        row["ratio"], row["least"], row["greatest"] = statistics.median(each), min(each), max(each)
        others = ""
        for number, other in enumerate(ready["triton"]):
            if other.startswith(name + " | "):
                found = programs["triton"].time(number)
                row[other.rpartition(" | ")[2]] = found.get("seconds")
                others += f" {other.rpartition(' | ')[2]} {found['seconds'] / row['nereid']:.2f}" if "seconds" in found else f" {found['failure'][:60]}"
        rows.append(row)
        ratios.append(row["ratio"])
        print(f"{name:70} {row['nereid'] * 1e6:9.2f} us, triton {row['triton'] * 1e6:9.2f}: {row['ratio']:5.3f} ({row['least']:.3f} to {row['greatest']:.3f}){others}", flush=True)
    if ratios:
        print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} of {len(ratios)} rows, least {min(ratios):.3f}", flush=True)
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(rows, indent=1) + "\n")
    for program in programs.values():
        program.process.stdin.close()
        program.process.wait()


if __name__ == "__main__":
    main()
