#!/usr/bin/env python3
"""Tries every kernel file below a folder: parse, list, emit. By hand; `./dev test corpus` is the part for CI.

    scripts/corpus.py --from DIR [--bin build/release/bin] [--json OUT] [--markdown OUT]

For each .py file: does it parse where CPython's parser takes it, does `list` find the kernels that
CPython's ast finds, and does each kernel emit tile IR, with the signatures of recorded launches where
test/corpus has some for the file, else with one guessed from how the body uses each parameter. Prints
a table by package (the first folder below DIR) and each reason of a miss with its count.
"""
import argparse
import ast
import collections
import concurrent.futures
import json
import os
import pathlib
import sys

from corpus_tools import ROOT, Nereid, astKernels, guessSignature, optionsOf, signatureOf


class Row:
    def __init__(self):
        self.files = self.parsed = self.kernels = self.listed = self.emitted = self.recorded = self.recordedEmitted = 0
        self.reasons = collections.Counter()


def recordedLaunches():
    launches = collections.defaultdict(list)
    for facts in (ROOT / "test" / "corpus").glob("*.json"):
        for launch in json.loads(facts.read_text())["launches"]:
            launches[launch["file"], launch["kernel"]].append(launch)
    return launches


def signatures(relative, name, node, recorded):
    """[(signature, options, whether recorded)]: all different recorded ones, or one guess, or none."""
    for (file, kernel), launches in recorded.items():
        if kernel == name and str(relative).endswith(file):
            seen = {}
            for launch in launches:
                try:
                    seen[signatureOf(launch)] = optionsOf(launch)
                except ValueError:
                    continue
            return [(signature, options, True) for signature, options in seen.items()]
    guess = guessSignature(node)
    return [(guess, [], False)] if guess else []


def isHelper(name, text):
    """A jit function that the file itself calls from another one: its parameters need not be a launch's."""
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and function.name != name:
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == name:
                    return True
    return False


def tryFile(nereid, root, path, recorded):
    row = Row()
    relative = path.relative_to(root)
    try:
        text = path.read_text()
        kernels = astKernels(text)
    except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError):
        return row
    row.files, row.kernels = 1, len(kernels)
    listed, why = nereid.list(path)
    if listed is None:
        row.reasons[f"parse or list: {why}"] += 1
        return row
    row.parsed = 1
    names = collections.Counter(kernel["name"] for kernel in listed)
    for name, _, _, node in kernels:
        if names[name] == 0:
            row.reasons["list: kernel not found"] += 1
            continue
        row.listed += 1
        if isHelper(name, text):
            # It is tried through its callers.
            row.kernels -= 1
            row.listed -= 1
            continue
        attempts = signatures(relative, name, node, recorded)
        if not attempts:
            row.reasons["no signature to try"] += 1
            continue
        good = True
        for signature, options, isRecorded in attempts:
            why = nereid.emit(path, name, signature, options)
            row.recorded += isRecorded
            row.recordedEmitted += isRecorded and why is None
            if why:
                good = False
                row.reasons[f"emit{'' if isRecorded else ' (guessed)'}: {why}"] += 1
        row.emitted += good
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="root", required=True, metavar="DIR")
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--json")
    parser.add_argument("--markdown", help="the table as Markdown, for docs/language.md")
    options = parser.parse_args()
    root = pathlib.Path(options.root).resolve()
    binary = pathlib.Path(options.bin) / "nereid"
    binary = binary if binary.is_absolute() else ROOT / binary
    if not binary.exists():
        print(f"scripts/corpus.py: there is no {binary}; build it first", file=sys.stderr)
        return 2
    nereid, recorded = Nereid(binary), recordedLaunches()
    files = sorted(path for path in root.rglob("*.py") if path.is_file())
    rows = collections.defaultdict(Row)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (path, one) in enumerate(zip(files, pool.map(lambda p: tryFile(nereid, root, p, recorded), files)), 1):
            package = path.relative_to(root).parts[0]
            total = rows[package if package != path.name else "."]
            for field, value in vars(one).items():
                setattr(total, field, getattr(total, field) + value)
            if sys.stderr.isatty():
                print(f"\r{done} of {len(files)} files", end="", file=sys.stderr)
    lines = ["| package | files | parsed | kernels | listed | emitted | recorded launches emitted |", "|---|--:|--:|--:|--:|--:|--:|"]
    for package, row in sorted(rows.items()):
        lines.append(f"| {package} | {row.files} | {row.parsed} | {row.kernels} | {row.listed} | {row.emitted} | "
                     f"{row.recordedEmitted} of {row.recorded} |")
    reasons = sum((row.reasons for row in rows.values()), collections.Counter())
    lines += ["", "| misses | reason |", "|--:|---|"] + [f"| {count} | {reason.replace('|', chr(92) + '|')} |" for reason, count in reasons.most_common()]
    print("\n".join(lines))
    if options.markdown:
        pathlib.Path(options.markdown).write_text("\n".join(lines) + "\n")
    if options.json:
        plain = {package: {**vars(row), "reasons": dict(row.reasons)} for package, row in rows.items()}
        pathlib.Path(options.json).write_text(json.dumps(plain, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
