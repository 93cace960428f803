#!/usr/bin/env python3
"""What the machine code of kernels is made of, Nereid's beside Triton's, offline: no GPU, one assembler for both. The worst come first.

    bench/code_beside.py LIST.json [--nereid build/release/bin/nereid] [--package build/release/python] [--chip sm_90a]
                         [--configs 2] [--match TEXT] [--limit 300] [--tensors none|cpu] [--tools FOLDER] [--keep FOLDER] [--jobs 2] [--json OUT]

LIST.json: [[FILE.py, KERNEL, SIGNATURE, {"num_warps": 8, ...}], ...], signatures as `nereid compile` takes them, in files that import nothing but Triton; or
programs as of `bench/programs.py`, {"name", "code", "path"}, or with "argv" instead of "code" (`["-m", "pytest", ...]`): `bench/record_launches.py` runs each
under both compilers without a device, and what both compiled of each kind of launch is compared. Needs an installed Triton; `--tools` has `ptxas`, `nvdisasm`
and `cuobjdump` (by default those that come with Triton). A line a kernel, Nereid/Triton: instructions; instructions where those of a loop count eight times;
registers, spilled bytes; barriers, shuffles, accesses to shared memory, special functions; accesses to global memory by width. Counts are no times: look at the
code of what differs, then time it.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TRITON = r'''
import importlib.util, json, re, sys
import triton
from triton.backends.compiler import GPUTarget

bench, path, kernel, signature, options, chip, out = sys.argv[1:]
sys.path.insert(0, bench)
from ast_source import source_of
spec = importlib.util.spec_from_file_location("kernels", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
source = source_of(getattr(module, kernel), signature)
made = triton.compile(source, target=GPUTarget("cuda", int(re.sub(r"\D", "", chip)), 32), options=json.loads(options))
open(out, "w").write(made.asm["ptx"])
'''
# Of the machine's instructions these are told; of those on global memory each width by itself.
TOLD = ("BAR", "SHFL", "REDUX", "LDS", "STS", "LDSM", "MUFU", "LDGSTS", "ATOMG", "RED")


def run(words, limit=600, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=limit, **options)
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1][:200])
    return done.stdout + done.stderr


def factsOf(ptx, options):
    """Counts of one kernel's machine code by name."""
    cubin = ptx.with_suffix(".cubin")
    said = run([options.tools / "ptxas", "-v", f"--gpu-name={options.chip}", ptx, "-o", cubin])
    facts = collections.Counter(registers=max(map(int, re.findall(r"Used (\d+) registers", said)), default=0),
                                spilled=sum(map(int, re.findall(r"(\d+) bytes spill stores", said))))
    code, labels = [], {}
    for line in run([options.tools / "nvdisasm", "-c", cubin]).splitlines():
        if label := re.match(r"^(\.L_\w+):", line):
            labels[label[1]] = len(code)
        elif found := re.match(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(.*?);", line):
            code.append(found[1])
    weights = [1] * len(code)
    for place, instruction in enumerate(code):
        target = re.match(r"BRA\b.*`\((\.L_\w+)\)", instruction)
        if target and labels.get(target[1], place) < place:  # back to the start of a loop
            for inside in range(labels[target[1]], place + 1):
                weights[inside] = min(8 * weights[inside], 512)
    for instruction, weight in zip(code, weights):
        name, *kinds = instruction.split()[0].split(".")
        if name == "NOP":
            continue
        facts["instructions"] += 1
        facts["weighted"] += weight
        if name in ("LDG", "STG"):
            facts[name + next((kind for kind in kinds if re.fullmatch(r"128|64|[US]?16|[US]8", kind)), "32").lstrip("US")] += 1
        elif name in TOLD:
            facts[name] += 1
    return facts


def compared(job, number, options, where):
    path, kernel, signature, settings = job
    nereid, triton = where / f"{number}-nereid.ptx", where / f"{number}-triton.ptx"
    flags = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", value)]
    run([options.nereid, "compile", f"{path}:{kernel}", "--signature", signature, "--target", options.chip, "--emit", "ptx", "-o", nereid, *flags])
    run([sys.executable, "-c", TRITON, pathlib.Path(__file__).resolve().parent, path, kernel, signature, json.dumps(settings), options.chip, triton],
        env=dict(os.environ, TRITON_CACHE_DIR=str(where / "cache")))
    return factsOf(nereid, options), factsOf(triton, options)


def recorded(programs, side, options, where):
    """Runs the programs of a list under an engine, without a device: `where` gets a folder for each by its number."""
    package = [options.package] if side == "nereid" else []
    (where / side).mkdir(parents=True, exist_ok=True)
    (where / side / "programs.json").write_text(json.dumps(programs))
    words = [sys.executable, *(["-m", "nereid"] if package else []), pathlib.Path(__file__).with_name("record_launches.py"), "--out", where / side, "--on-gpu", "--chip",
             re.sub(r"\D", "", options.chip),
             "--configs", options.configs, "--limit", options.limit, "--tensors", options.tensors, where / side / "programs.json"]
    paths = [*package, *filter(None, [os.environ.get("PYTHONPATH")])]
    run(words, limit=None, env=dict(os.environ, PYTHONPATH=":".join(paths), TRITON_CACHE_DIR=str(where / "cache"), NEREID_CACHE_DIR=str(where / "cache")))


def launchesOf(folder):
    """({key: launch}, why the program ended early) of what `recorded` left of a program."""
    lines = (folder / "launches.json").read_text().splitlines() if (folder / "launches.json").exists() else []
    said = (folder / "said.txt").read_text(errors="replace").strip().splitlines()
    why = None
    if not said or not said[-1].startswith("ends with"):
        why = "it crashed" + (f": {said[-1]}" if said else "")
    elif said[-1] == "ends with 1":
        why = next((line.strip() for line in said[-2::-1] if line.strip()), "it failed")
    return {launch["key"]: launch for launch in map(json.loads, lines)}, why


def ofProgram(program, number, options, where):
    """(job, facts of both) of each launch that both compiled, a line for each other, and how many there are."""
    rows, lines, sides = [], [], {}
    for side in ("nereid", "triton"):
        sides[side], why = launchesOf(where / side / str(number))
        if why:
            lines.append(f"{program['name']}: under {side.title()} it ends early: {why[:200]}")
    ours, theirs = sides.values()
    for key in {**ours, **theirs}:
        one, other = ours.get(key), theirs.get(key)
        label = f"{program['name']}: {(one or other)['kernel']}"
        if not one or not other:
            lines.append(f"{label} is launched under {'Triton' if other else 'Nereid'} alone")
        elif "error" in one or "error" in other:
            lines += [f"{label}: {side}: {launch['error'].splitlines()[0][:200]}" for side, launch in (("Nereid", one), ("Triton", other)) if "error" in launch]
        else:
            try:
                facts = [factsOf(where / side / str(number) / launch["ptx"], options) for side, launch in (("nereid", one), ("triton", other))]
                rows.append(((one["file"], label, one["signature"], one["options"]), *facts))
            except RuntimeError as error:
                lines.append(f"{label}: {error}")
    return rows, lines, len({**ours, **theirs})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("--package", type=os.path.abspath, default="build/release/python")
    parser.add_argument("--configs", default="2", help="of a tuned kernel, of programs")
    parser.add_argument("--match", default="", help="programs whose names have this text")
    parser.add_argument("--limit", type=int, default=300, help="seconds of a program under one compiler")
    parser.add_argument("--tensors", choices=["none", "cpu"], default="none", help="of programs: without memory, or the CPU's, where shapes depend on contents")
    parser.add_argument("--json", help="where to write the counts")
    parser.add_argument("--nereid", type=os.path.abspath, default="build/release/bin/nereid")
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument("--tools", type=pathlib.Path)
    parser.add_argument("--keep", help="a folder for PTX and cubins")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if not options.tools:
        import triton
        options.tools = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin"
    jobs = json.loads(pathlib.Path(options.list).read_text())
    programs = [job for job in jobs if isinstance(job, dict) and options.match in job["name"]]
    jobs = [job for job in jobs if not isinstance(job, dict)]
    rows, count = [], len(jobs)
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        where = pathlib.Path(options.keep or scratch)
        where.mkdir(parents=True, exist_ok=True)
        waiting = {pool.submit(compared, job, number, options, where): (number, job) for number, job in enumerate(jobs)}
        for done in concurrent.futures.as_completed(waiting):
            number, job = waiting[done]
            try:
                rows.append((number, job, *done.result()))
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"{number} {job[1]}: {error}", flush=True)
        for _ in pool.map(lambda side: recorded(programs, side, options, where), ("nereid", "triton") if programs else ()):
            pass
        for done in concurrent.futures.as_completed([pool.submit(ofProgram, program, number, options, where) for number, program in enumerate(programs)]):
            found, lines, launches = done.result()
            rows += [(len(rows) + place, *row) for place, row in enumerate(found)]
            count += launches
            for line in lines:
                print(line, flush=True)
    if options.json:
        counts = [dict(file=job[0], kernel=job[1], signature=job[2], options=job[3], nereid=ours, triton=theirs) for _, job, ours, theirs in rows]
        pathlib.Path(options.json).write_text(json.dumps(counts, indent=1))
    ratio = lambda row, what: row[2][what] / row[3][what]
    for row in sorted(rows, key=lambda row: -ratio(row, "weighted")):
        number, job, ours, theirs = row
        told = [name for name in sorted({*ours, *theirs}) if name not in ("instructions", "weighted") and (ours[name] or theirs[name])]
        print(f"{number:4} {job[1]:44} {ratio(row, 'instructions'):5.2f} {ratio(row, 'weighted'):5.2f}  {ours['instructions']}/{theirs['instructions']} "
              + " ".join(f"{name} {ours[name]}/{theirs[name]}" for name in told), flush=True)
    if rows:
        means = [math.exp(sum(math.log(ratio(row, what)) for row in rows) / len(rows)) for what in ("instructions", "weighted")]
        print(f"{len(rows)} of {count} kernels, geometric mean {means[0]:.3f}, with loops eightfold {means[1]:.3f}")
    return 0 if len(rows) == count else 1


if __name__ == "__main__":
    sys.exit(main())
