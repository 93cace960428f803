#!/usr/bin/env python3
"""Kernels of folders through the Python package and under Triton, on the same tensors' shapes, in turns on one GPU.

    bench/turns.py FOLDER... [--package FOLDER] [--match TEXT] [--variant NAME]... [--least SECONDS] [--most SECONDS] [--turns 5] [--seconds 0.1] [--peers] [--prepare JOBS] [--out FILE.json]

Both are timed by bench/peers.py, in two programs that live at once and measure one after the other: each row in turns, so that what the machine does with its clocks meets both.
Each case runs in the variant and configuration that tuned.json has as its fastest. A time is the median of the turns, a ratio the median of the turns' ratios
(least and greatest beside it): above 1, Nereid is faster. --peers times what the specs name as well, in Triton's program. --least and --most take rows by their time in tuned.json,
--prepare compiles into the caches on disk, by so many programs at once, and times nothing.
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

PROGRAM = r'''
import json, sys
import peers
import torch, triton

words = json.loads(sys.argv[1])
triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
rows = []  # of a name, and what makes {who: call}


def builder(folder, task, case, variant, config):
    def build():
        bindings = {k: v for k, v in case.items() if k not in ("label", "check")}
        torch.manual_seed(0)
        inputs = peers.call(folder.field(task, "inputs"), bindings)
        blanks = {k: v for k, v in inputs.items() if isinstance(v, peers.Tensor) and v.computed}
        if blanks:
            before = folder.field(task, "prepare")
            peers.prepare(folder, before, inputs, peers.call(folder.field(before, "outputs"), inputs, bindings) | blanks, bindings)
        outputs = peers.call(folder.field(task, "outputs"), inputs, bindings)
        calls = {"": folder.prepare(peers.call(variant["run"], config, inputs, outputs, bindings))}
        data = {k: v.data if isinstance(v, peers.Tensor) else v for k, v in (inputs | bindings).items()}
        for who, text in (folder.field(task, "peers") or {}).items() if words["peers"] else ():
            names = dict(torch=torch, F=torch.nn.functional, math=peers.math, unsupported=peers.unsupported, backward=peers.gradients(), **data)
            calls[who] = lambda text=text, names=names: eval(text, names)
        return calls
    return build


for path in words["folders"]:
    folder = peers.Folder(path)
    for task in folder.spec.get("tasks", {"": {}}):
        variants = {f"{task}.{name}" if task else name: v if isinstance(v, dict) else dict(run=v) for name, v in folder.field(task, "variants").items()}
        if words["variant"]:
            variants = {full: v for full, v in variants.items() if full in words["variant"] or full.split(".")[-1] in words["variant"]}
        for case in folder.field(task, "bench") or []:
            chosen = peers.tuned_choice(folder, task, case)
            if words["match"] in peers.label(case) and chosen and chosen[0] in variants and words["least"] <= chosen[2] <= words["most"]:
                rows.append((f"{folder.path.name} {chosen[0]} {peers.label(case)}", builder(folder, task, case, variants[chosen[0]], chosen[1])))
rows = rows[words["part"]::words["parts"]]
print(json.dumps(dict(ready=[name for name, _ in rows])), flush=True)
held = None  # the row whose tensors are there
for line in sys.stdin:
    number, who = json.loads(line)
    try:
        if held != number:
            calls = None
            torch.cuda.empty_cache()
            calls, held = rows[number][1](), number
            calls[""]()
            torch.cuda.synchronize()
        if who is None:
            print(json.dumps(dict(calls=list(calls))), flush=True)
        else:
            print(json.dumps(dict(seconds=peers.median(calls[who], words["seconds"]))), flush=True)
    except Exception as error:
        held = None
        print(json.dumps(dict(failure=f"{type(error).__name__}: {error}"[:200])), flush=True)
'''


class Program:
    def __init__(self, who, options, part=0, parts=1):
        words = dict(folders=options.folders, match=options.match, variant=options.variant, seconds=options.seconds, least=options.least, most=options.most, part=part, parts=parts,
                     peers=options.peers and who == "triton")
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

    def ask(self, number, who):
        """Times a row, or with None makes it and says what there is to time."""
        self.process.stdin.write(json.dumps([number, who]) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def prepare(self):
        for number in range(len(self.answer()["ready"])):
            self.ask(number, None)
        self.end()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--package", help="the folder that holds `nereid`; by default it is installed")
    parser.add_argument("--match", default="")
    parser.add_argument("--variant", action="append", default=[])
    parser.add_argument("--most", type=float, default=math.inf)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--prepare", type=int, default=0, metavar="JOBS")
    parser.add_argument("--out")
    options = parser.parse_args()
    if options.prepare:
        programs = [Program(who, options, part, options.prepare) for part in range(options.prepare) for who in ("triton", "nereid")]
        with concurrent.futures.ThreadPoolExecutor(len(programs)) as pool:
            list(pool.map(Program.prepare, programs))
        return
    programs = {who: Program(who, options) for who in ("nereid", "triton")}
    ready = {who: program.answer()["ready"] for who, program in programs.items()}
    rows, ratios = [], []
    for number, name in enumerate(ready["nereid"]):
        made = {who: program.ask(number, None) for who, program in programs.items()}
        failures = [f"{who}: {one['failure']}" for who, one in made.items() if "failure" in one]
        row, seen = dict(name=name), {who: [] for who in programs}
        for turn in range(0 if failures else options.turns):
            for who in sorted(programs, reverse=turn % 2):
                one = programs[who].ask(number, "")
                failures += [f"{who}: {one['failure']}"] if "failure" in one else []
                seen[who].append(one.get("seconds"))
        if failures:
            print(f"{name}: {failures[0]}", flush=True)
            rows.append(dict(row, failure=failures[0]))
            continue
        for who, times in seen.items():
            row[who], row[who + "_turns"] = statistics.median(times), times
        each = [b / a for a, b in zip(row["nereid_turns"], row["triton_turns"])]
        row["ratio"], row["least"], row["greatest"] = statistics.median(each), min(each), max(each)
        others = ""
        for other in made["triton"]["calls"][1:]:
            found = programs["triton"].ask(number, other)
            row[other] = found.get("seconds")
            others += f" {other} {found['seconds'] / row['nereid']:.2f}" if "seconds" in found else f" {other}: {found['failure'][:60]}"
        rows.append(row)
        ratios.append(row["ratio"])
        print(f"{name:70} {row['nereid'] * 1e6:9.2f} us, triton {row['triton'] * 1e6:9.2f}: {row['ratio']:5.3f} ({row['least']:.3f} to {row['greatest']:.3f}){others}", flush=True)
        if options.out:
            pathlib.Path(options.out).write_text(json.dumps(rows, indent=1) + "\n")
    if ratios:
        print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} of {len(ratios)} rows, least {min(ratios):.3f}, {sum(one < 0.9 for one in ratios)} below 0.9", flush=True)
    for program in programs.values():
        program.end()


if __name__ == "__main__":
    main()
