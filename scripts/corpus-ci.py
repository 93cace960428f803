#!/usr/bin/env python3
"""Public kernels that this project did not write: `list`, compilation and replay of recorded launches.

    scripts/corpus-ci.py --bin build/dev/bin [--package liger] [--only TEXT] [--step emit] [--verbose]

Fetches the packages named in test/corpus/*.json from the package index into .cache/corpus, unpacks
them, and for each of them

    list    compares `nereid list` with CPython's ast, for each file;
    emit    emits and verifies tile IR, for each specialisation that a launch was recorded with;
    ptx     compiles those for all of CHIPS, and assembles them; skipped without ptxas;
    ref     runs each launch on the interpreter, against the recorded results where there are some;
    cpu     runs it as machine code, against those, or else against the interpreter.

Nothing of a package is run or kept. `--sample N` takes one in N of the launches for ref and cpu, always
the same ones. `--results` writes the counts that scripts/language-doc.py puts into docs/language.md.
The last line is JSON: {"passed", "failed", "skipped", "failures"}, and "reasons" of what was skipped.
"""
import argparse
import ast
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "test" / "harness"))
import gpu_tools
import wheels
from corpus_tools import CHIPS, ROOT, Nereid, Replay, apart, astKernels, optionsOf, signatureOf, unexpected

CACHE = ROOT / ".cache" / "corpus"
RESULTS = ROOT / "test" / "corpus" / "results" / "counts.json"
STEPS = ("list", "emit", "ptx", "ref", "cpu")


def fetch(requirement):
    """The folder of the unpacked package, or None where the index can't be reached."""
    folder = CACHE / requirement.replace("==", "-")
    return folder if wheels.fetch(requirement, folder, lambda name: name.endswith(".py")) else None


def checkList(nereid, path):
    """None where `list` and CPython's ast see the same kernels, those inside functions aside."""
    try:
        text = path.read_text()
        wanted = sorted((name, tuple(parameters)) for name, _, parameters, _ in astKernels(text))
        classes = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}
    except (SyntaxError, UnicodeDecodeError):
        return None
    kernels, why = nereid.list(path)
    if kernels is None:
        return why
    seen = sorted((k["name"], tuple(p["name"] if isinstance(p, dict) else p for p in k["parameters"])) for k in kernels
                  if "." not in k["name"] or k["name"].split(".")[0] in classes)
    if seen != wanted:
        missing = [name for name, _ in wanted if name not in [n for n, _ in seen]]
        extra = [name for name, _ in seen if name not in [n for n, _ in wanted]]
        return f"other kernels than CPython's ast: missing {missing}, extra {extra}" if missing or extra else "other parameters than CPython's ast"
    return None


def emitLaunch(nereid, folder, launch):
    return nereid.emit(folder / launch["file"], launch["kernel"], signatureOf(launch), optionsOf(launch))


class Skipped(str):
    """Why a check was not made."""


class Assembler:
    """PTX that ptxas takes for one chip it takes for those after it: of texts that differ in `.target` alone it reads the first."""

    def __init__(self, ptxas):
        self.ptxas, self.taken, self.lock = ptxas, {}, threading.Lock()

    def refusal(self, text, chip):
        """None, or what ptxas says."""
        lines = text.splitlines()
        isHeader = lambda line: line.startswith((".target", ".version"))
        header = tuple(filter(isHeader, lines))
        body = hashlib.sha256("\n".join(line for line in lines if not isHeader(line)).encode()).digest()
        number = int(chip.removeprefix("sm_").rstrip("a"))
        with self.lock:
            before = self.taken.get(body, [])
            if header in self.taken and any(one == chip or one[-1] != "a" and int(one[3:]) <= number for one in before):
                return None
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "kernel.ptx"
            path.write_text(text)
            done = subprocess.run([self.ptxas, f"-arch={chip}", path, "-o", path.with_suffix(".cubin")], capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            return f"ptxas for {chip}: {(done.stderr.strip().splitlines() or ['failed'])[0].partition(';')[2].strip()}"
        with self.lock:
            self.taken.setdefault(body, []).append(chip)
            self.taken[header] = True
        return None


def assemble(nereid, folder, launch, assembler):
    for chip in CHIPS:
        text, why = nereid.compile(folder / launch["file"], launch["kernel"], signatureOf(launch), optionsOf(launch), "ptx", chip)
        if why:
            return f"{chip}: {why}"
        if assembler and (refused := assembler.refusal(text, chip)):
            return refused
    return None if assembler else Skipped("compiled, but there is no ptxas to assemble with; `./dev setup test` fetches it")


def runLaunch(nereid, folder, launch):
    """[(step, why it failed or None)] of both devices."""
    with tempfile.TemporaryDirectory() as scratch:
        replay = Replay(nereid, folder / launch["file"], launch, scratch)
        wanted, refWhy = replay.on("ref")
        seen, cpuWhy = replay.on("cpu")
        exact, exactWhy = replay.on("ref", "--wide") if "expect" not in launch else (None, None)
    if "expect" in launch:
        refWhy = refWhy or unexpected(wanted, launch)
        cpuWhy = cpuWhy or unexpected(seen, launch)
    elif not cpuWhy:
        refWhy = refWhy or exactWhy
        cpuWhy = apart(wanted, seen, exact, replay.tensors) if wanted and exact else "nothing to compare with"
    return [("ref", refWhy), ("cpu", cpuWhy)]


def specialisation(launch):
    return launch["file"], launch["kernel"], json.dumps(launch["options"]), signatureOf(launch)


def guarded(check):
    try:
        return check()
    except subprocess.TimeoutExpired:
        return "time-out"
    except Exception as error:  # A fault of this script must show as a failure of the job.
        return f"{type(error).__name__}: {error}"


def jobsOf(nereid, folder, launches, assembler, options):
    """[(steps, name, check)]; a check gives a reason or None, or both for each of its steps."""
    jobs = [(("list",), str(path.relative_to(folder)), lambda p=path: checkList(nereid, p))
            for path in sorted(folder.rglob("*.py")) if options.only in str(path.relative_to(folder))]
    seen = set()
    for launch in launches:
        name = f"{launch['file']}:{launch['kernel']} ({launch['by']})"
        chosen = zlib.crc32(name.encode()) % options.sample == 0
        if specialisation(launch) not in seen:
            seen.add(specialisation(launch))
            jobs.append((("emit",), name, lambda l=launch: emitLaunch(nereid, folder, l)))
            jobs.append((("ptx",), name, lambda l=launch: assemble(nereid, folder, l, assembler)))
        if chosen:
            jobs.append((("ref", "cpu"), name, lambda l=launch: runLaunch(nereid, folder, l)))
    return [job for job in jobs if not options.step or options.step in job[0]]


def main():
    parser = argparse.ArgumentParser(prog="./dev corpus", description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", default="build/dev/bin")
    parser.add_argument("--package", default="", help="only packages whose name contains this")
    parser.add_argument("--only", default="", help="only files and kernels whose name contains this")
    parser.add_argument("--step", choices=STEPS, help="only this step (ref and cpu come together)")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="one launch in N for ref and cpu")
    parser.add_argument("--results", action="store_true", help="write test/corpus/results/counts.json; only of a whole run")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.results and (options.package or options.only or options.step or options.sample != 1):
        parser.error("--results wants a whole run")
    binary = pathlib.Path(options.bin) / "nereid"
    binary = binary if binary.is_absolute() else ROOT / binary
    result = dict(passed=0, failed=0, skipped=0, failures=[])
    jobs, counts = [], {}
    nereid = Nereid(binary, limit=300)
    ptxas = gpu_tools.find_ptxas(str(ROOT))
    assembler = Assembler(ptxas) if ptxas else None
    for facts in sorted((ROOT / "test" / "corpus").glob("*.json")):
        record = json.loads(facts.read_text())
        package = record.get("package", "")
        if not package or options.package not in package:
            continue
        launches = [l for l in record["launches"] if options.only in f"{l['file']}:{l['kernel']}"]
        folder = fetch(package) if binary.exists() else None
        if folder is None:
            result["skipped"] += len(launches)
            result.setdefault("reasons", []).append(f"{len(launches)} launches of {package}: " + ("the package can't be fetched" if binary.exists() else f"there is no {binary}"))
            continue
        counts[package] = dict(kernels=len({(l["file"], l["kernel"]) for l in launches}), launches=len(launches),
                               steps={step: [0, 0] for step in STEPS}, reasons=collections.Counter(),
                               skipped=collections.Counter())
        jobs += [(package, *job) for job in jobsOf(nereid, folder, launches, assembler, options)]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        for (package, steps, name, _), outcome in zip(jobs, pool.map(lambda job: guarded(job[3]), jobs)):
            for step, why in outcome if isinstance(outcome, list) else [(step, outcome) for step in steps]:
                if isinstance(why, Skipped):
                    result["skipped"] += 1
                    counts[package]["skipped"][f"{step}: {why}"] += 1
                    continue
                counts[package]["steps"][step][1] += 1
                if why is None:
                    result["passed"] += 1
                    counts[package]["steps"][step][0] += 1
                else:
                    result["failed"] += 1
                    result["failures"].append(f"{step} {name}: {why}")
                    counts[package]["reasons"][f"{step}: {why}"] += 1
                if options.verbose:
                    print(f"{'passed' if why is None else 'FAILED'} {step} {name} {why or ''}", flush=True)
    for package, count in counts.items():
        print(package, "; ".join(f"{step} {good} of {tried}" for step, (good, tried) in count["steps"].items()))
        for reason, times in count["reasons"].most_common(20):
            print(f"{times:5} {reason}")
        for reason, times in count.pop("skipped").items():
            print(f"{times:5} skipped, {reason}")
            result.setdefault("reasons", []).append(f"{times} of {package}, {reason}")
    if options.results and not result["skipped"]:
        RESULTS.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    result["failures"] = result["failures"][:40]
    print(json.dumps(result))
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
