#!/usr/bin/env python3
"""`check` on planted faults and on clean kernels.

    scripts/corpus-faults.py --bin build/dev/bin [--only TEXT] [--verbose]

Each fault of test/corpus/faults.py must be reported with its code at its line; each launch there, as it
stands, must pass without a word. The last line is JSON: {"passed", "failed", "skipped", "failures"}.
"""
import argparse
import ast
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

from corpus_tools import ROOT, Nereid

REPORT = re.compile(r"([\w./-]+\.py):(\d+):\d+: (?:error|warning): .*\[(\w+)\]\s*$")


def load():
    spec = importlib.util.spec_from_file_location("faults", ROOT / "test" / "corpus" / "faults.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def functionSpan(text, name):
    """Where a top-level function's text begins and ends."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            starts = [0]
            for line in text.splitlines(keepends=True):
                starts.append(starts[-1] + len(line))
            return starts[node.lineno - 1], starts[node.end_lineno]
    raise ValueError(f"no function {name}")


def plant(text, fault):
    begin, end = functionSpan(text, fault.function)
    body = text[begin:end]
    if body.count(fault.find) != 1:
        raise ValueError(f"{fault.find!r} is {body.count(fault.find)} times in {fault.function}")
    return text[:begin] + body.replace(fault.find, fault.replace) + text[end:]


def expectedLines(text, fault):
    """First and last line of the smallest statement that holds the text to be reported."""
    where = fault.at or fault.replace.splitlines()[-1].strip()
    function = fault.function
    named = re.match(r"(\w+):(.*)", where, re.S)
    if named and not where.startswith("tl:"):
        function, where = named.groups()
    begin, end = functionSpan(text, function)
    body = text[begin:end]
    if body.count(where) != 1:
        raise ValueError(f"{where!r} is {body.count(where)} times in {function}")
    line = text[:begin + body.index(where)].count("\n") + 1
    best = None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef) and node.lineno <= line <= node.end_lineno:
            # Of a compound statement only the head is meant.
            last = node.body[0].lineno - 1 if getattr(node, "body", None) else node.end_lineno
            last = max(last, node.lineno)
            if line <= last and (best is None or last - node.lineno < best[1] - best[0]):
                best = (node.lineno, last)
    if best is None:
        raise ValueError(f"no statement at line {line}")
    return best


def command(folder, launch):
    file, _, kernel = launch.kernel.partition("/")[2].rpartition(":")
    text = (folder / file).read_text()
    begin, end = functionSpan(text, kernel)
    node = ast.parse(text[begin:end]).body[0]
    constants = {p.arg for p in node.args.args if p.annotation and "constexpr" in ast.unparse(p.annotation)}
    words = ["check", f"{folder / file}:{kernel}", "--grid", str(launch.grid)]
    for name, value in launch.arguments.items():
        words += ["--const" if name in constants else "--arg", f"{name}={value}"]
    return words


def reports(nereid, words):
    code, _, err = nereid.run(words)
    found = [(match[1], int(match[2]), match[3]) for match in map(REPORT.search, err.splitlines()) if match]
    return code, found, err


def definition(function):
    """Of a kernel or helper, with or without options of the decorator."""
    return re.compile(rf"@triton\.jit(\(.*\))?\ndef {function}\(")


def checkFault(nereid, faults, fault):
    launch = faults.LAUNCHES[fault.launch]
    with tempfile.TemporaryDirectory() as scratch:
        name, _, rest = launch.kernel.partition("/")
        folder = pathlib.Path(shutil.copytree(ROOT / "kernels" / name, pathlib.Path(scratch) / name))
        # A helper may live in another file of the folder than the kernel that is launched.
        for path in sorted(folder.glob("*.py"), key=lambda p: p.name != rest.partition(":")[0]):
            if definition(fault.function).search(path.read_text()):
                break
        changed = plant(path.read_text(), fault)
        path.write_text(changed)
        first, last = expectedLines(changed, fault)
        code, found, err = reports(nereid, command(folder, launch))
        if code is None:
            return "time-out"
        if any(pathlib.Path(file).name == path.name and first <= line <= last and seen == fault.code for file, line, seen in found):
            return None
        seen = "; ".join(f"{pathlib.Path(file).name}:{line} {code}" for file, line, code in found[:4]) or err.strip()[-200:] or "nothing"
        return f"expected {fault.code} at {path.name}:{first}-{last}, saw {seen}"


def checkClean(nereid, launch):
    name = launch.kernel.partition("/")[0]
    code, found, err = reports(nereid, command(ROOT / "kernels" / name, launch))
    return None if code == 0 and not found else f"a clean launch is not let pass: {err.strip()[-300:] or f'exit code {code}'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", default="build/dev/bin")
    parser.add_argument("--only", default="", help="only launches whose name contains this")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    binary = pathlib.Path(options.bin) / "nereid"
    binary = binary if binary.is_absolute() else ROOT / binary
    faults, nereid = load(), Nereid(binary)
    jobs = [(f"clean {name}", lambda l=launch: checkClean(nereid, l)) for name, launch in faults.LAUNCHES.items() if options.only in name]
    jobs += [(f"fault {number}: {fault.code} in {fault.launch}", lambda f=fault: checkFault(nereid, faults, f))
             for number, fault in enumerate(faults.FAULTS) if options.only in fault.launch]
    result = dict(passed=0, failed=0, skipped=0, failures=[])
    if not binary.exists():
        result["skipped"] = len(jobs)
        jobs = []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        for (name, _), why in zip(jobs, pool.map(lambda job: job[1](), jobs)):
            result["passed" if why is None else "failed"] += 1
            if why:
                result["failures"].append(f"{name}: {why}")
            if options.verbose or why:
                print(f"{'passed' if why is None else 'FAILED'} {name} {why or ''}", flush=True)
    print(json.dumps(result))
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
