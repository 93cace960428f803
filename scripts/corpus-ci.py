#!/usr/bin/env python3
"""Public kernels that this project did not write: `list`, emission and replay of recorded launches.

    scripts/corpus-ci.py --bin build/dev/bin [--package liger] [--only TEXT] [--verbose]

Fetches the packages named in test/corpus/*.json from the package index into .cache/corpus, unpacks
them, and for each of them compares `nereid list` with CPython's ast, emits tile IR for each recorded
launch, and replays those with expected results on the interpreter. Nothing of a package is run or
kept. The last line is JSON: {"passed", "failed", "skipped", "failures"}.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import venv
import zipfile

from corpus_tools import ROOT, Nereid, astKernels, optionsOf, replay, signatureOf

CACHE = ROOT / ".cache" / "corpus"


def fetch(requirement):
    """The folder of the unpacked package, or None where the index can't be reached."""
    folder = CACHE / requirement.replace("==", "-")
    if (folder / "complete").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    pip = CACHE / "venv" / "bin" / "pip"
    if not pip.exists():
        venv.create(CACHE / "venv", with_pip=True)
    done = subprocess.run([pip, "download", "-q", "--no-deps", "--only-binary", ":all:", "--retries", "1", "--disable-pip-version-check",
                           "-d", folder, requirement], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        print(f"{requirement} can't be fetched: {done.stderr.strip().splitlines()[-1:]}", flush=True)
        return None
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if name.endswith(".py")])
    (folder / "complete").touch()
    return folder


def checkList(nereid, folder, path):
    """None where `list` and CPython's ast see the same kernels."""
    try:
        text = path.read_text()
        wanted = sorted((name, tuple(parameters)) for name, _, parameters, _ in astKernels(text))
    except (SyntaxError, UnicodeDecodeError):
        return None
    kernels, why = nereid.list(path)
    if kernels is None:
        return why
    seen = sorted((k["name"], tuple(p["name"] if isinstance(p, dict) else p for p in k["parameters"])) for k in kernels)
    if seen != wanted:
        missing = [name for name, _ in wanted if name not in [n for n, _ in seen]]
        extra = [name for name, _ in seen if name not in [n for n, _ in wanted]]
        return f"other kernels than CPython's ast: missing {missing}, extra {extra}" if missing or extra else "other parameters than CPython's ast"
    return None


def emitLaunch(nereid, folder, launch):
    try:
        signature = signatureOf(launch)
    except ValueError as error:
        return str(error)
    return nereid.emit(folder / launch["file"], launch["kernel"], signature, optionsOf(launch))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/dev/bin")
    parser.add_argument("--package", default="", help="only packages whose name contains this")
    parser.add_argument("--only", default="", help="only files and kernels whose name contains this")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    binary = pathlib.Path(options.bin) / "nereid"
    binary = binary if binary.is_absolute() else ROOT / binary
    result = dict(passed=0, failed=0, skipped=0, failures=[])
    jobs = []
    nereid = Nereid(binary)
    for facts in sorted((ROOT / "test" / "corpus").glob("*.json")):
        record = json.loads(facts.read_text())
        if options.package not in record["package"]:
            continue
        launches = [l for l in record["launches"] if options.only in f"{l['file']}:{l['kernel']}"]
        folder = fetch(record["package"]) if binary.exists() else None
        if folder is None:
            result["skipped"] += len(launches)
            continue
        for path in sorted(folder.rglob("*.py")):
            if options.only in str(path.relative_to(folder)):
                jobs.append(("list", f"{path.relative_to(folder)}", lambda p=path, f=folder: checkList(nereid, f, p)))
        seen = set()
        for launch in launches:
            name = f"{launch['file']}:{launch['kernel']} ({launch['by']})"
            key = (launch["file"], launch["kernel"], json.dumps(launch["options"]), json.dumps([a.get("type", a["kind"]) for a in launch["args"]]),
                   signatureText(launch))
            if key not in seen:
                seen.add(key)
                jobs.append(("emit", name, lambda l=launch, f=folder: emitLaunch(nereid, f, l)))
            if "expect" in launch:
                jobs.append(("replay", name, lambda l=launch, f=folder: replay(nereid, f / l["file"], l)))
    reasons = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (step, name, _), why in zip(jobs, pool.map(lambda job: guarded(job[2]), jobs)):
            if why is None:
                result["passed"] += 1
            else:
                result["failed"] += 1
                result["failures"].append(f"{step} {name}: {why}")
                reasons[f"{step}: {why}"] += 1
            if options.verbose:
                print(f"{'passed' if why is None else 'FAILED'} {step} {name} {why or ''}", flush=True)
    for reason, count in reasons.most_common(20):
        print(f"{count:5} {reason}")
    result["failures"] = result["failures"][:40]
    print(json.dumps(result))
    return 1 if result["failed"] else 0


def signatureText(launch):
    try:
        return signatureOf(launch)
    except ValueError as error:
        return str(error)


def guarded(check):
    try:
        return check()
    except Exception as error:  # A fault of this script must show as a failure of the job.
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
