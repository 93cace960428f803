#!/usr/bin/env python3
"""Compare our syntax trees with those of the running Python.

    compare-ast.py [--tool build/dev/bin/nereid-ast] [--jobs 2] [--limit N] [--strict] PATH...

Each PATH is a file or a folder (searched for *.py); none means the standard library. A file passes if
both accept it and the trees are equal to the last column, or both reject it. What only we accept is
counted as "newer syntax": CPython's parser is the older one then.

Positions inside f-strings: CPython 3.11 and 3.12 put them elsewhere than 3.13 (and we). They are
compared with --strict only, which is meant to be run by Python 3.13.
"""
import argparse
import ast
import multiprocessing
import os
import subprocess
import sys
import threading
import warnings

POSITIONS = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def dump(node, loose, out):
    """What ast.dump of 3.11 prints, without its recursion on strings."""
    in_fstring = 0

    def visit(node):
        nonlocal in_fstring
        if isinstance(node, list):
            out.append("[")
            for i, item in enumerate(node):
                if i:
                    out.append(", ")
                visit(item)
            out.append("]")
            return
        if isinstance(node, int) and not isinstance(node, bool) and node.bit_length() > 20000:
            out.append(hex(node))
            return
        if not isinstance(node, ast.AST):
            out.append(repr(node))
            return
        joined = isinstance(node, ast.JoinedStr)
        in_fstring += joined
        cls = type(node)
        out.append(cls.__name__)
        out.append("(")
        first = True
        for name in node._fields:
            value = getattr(node, name, None)
            if value is None and not (name == "value" and cls in (ast.Constant, ast.MatchSingleton)):
                continue
            if name in ("type_params",) and value == []:
                continue
            if not first:
                out.append(", ")
            first = False
            out.append(name + "=")
            visit(value)
        for name in node._attributes:
            if name not in POSITIONS:
                continue
            if not first:
                out.append(", ")
            first = False
            value = 0 if loose and in_fstring else getattr(node, name)
            out.append(f"{name}={value}")
        out.append(")")
        in_fstring -= joined

    visit(node)


def theirs(path, loose):
    with open(path, "rb") as file:
        data = file.read()
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return None, f"{type(error).__name__}: {error}"
    out = []
    dump(tree, loose, out)
    return "".join(out), None


def first_difference(ours, want):
    i = next((i for i, (a, b) in enumerate(zip(ours, want)) if a != b), min(len(ours), len(want)))
    return f"    ours   ...{ours[max(i - 80, 0):i + 120]}\n    theirs ...{want[max(i - 80, 0):i + 120]}"


def compare(task):
    tool, strict, paths = task
    listing = "".join(path + "\n" for path in paths)
    command = [tool, "--dump" if strict else "--loose", "--files", "-"]
    done = subprocess.run(command, input=listing.encode(), stdout=subprocess.PIPE)
    lines = done.stdout.decode("utf-8", "surrogatepass").split("\n")
    results = []
    if len(lines) != len(paths) + 1:
        return [("CRASH", paths[min(len(lines) - 1, len(paths) - 1)],
                 f"{len(lines) - 1} trees of {len(paths)}, exit status {done.returncode}")]
    for path, ours in zip(paths, lines):
        want, error = theirs(path, not strict)
        rejected = ours.startswith("error: ")
        if want is None:
            results.append(("both reject" if rejected else "newer syntax", path, error))
        elif rejected:
            results.append(("REJECTED", path, ours))
        elif ours != want:
            results.append(("DIFFERENT", path, first_difference(ours, want)))
        else:
            results.append(("equal", path, ""))
    return results


def find(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, subfolders, names in os.walk(path):
            subfolders[:] = sorted(s for s in subfolders if s != "__pycache__")
            for name in sorted(names):
                if name.endswith(".py"):
                    yield os.path.join(folder, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tool", default=os.path.join(
        os.path.dirname(__file__), "..", "build", "dev", "bin", "nereid-ast"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--strict", action="store_true", help="compare positions inside f-strings")
    parser.add_argument("--verbose", action="store_true", help="also list what both reject")
    parser.add_argument("paths", nargs="*", default=[os.path.dirname(os.__file__)])
    options = parser.parse_args()

    warnings.simplefilter("ignore")
    sys.setrecursionlimit(100_000)
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    paths = [path for path in find(options.paths) if "\n" not in path]
    if options.limit:
        paths = paths[:options.limit]
    tasks = [(options.tool, options.strict, paths[i:i + 20]) for i in range(0, len(paths), 20)]
    counts = {}
    with multiprocessing.Pool(options.jobs) as pool:
        for results in pool.imap(compare, tasks):
            for verdict, path, detail in results:
                counts[verdict] = counts.get(verdict, 0) + 1
                if verdict.isupper() or (options.verbose and verdict != "equal"):
                    print(f"{verdict}: {path}\n{detail}")
    total = ", ".join(f"{count} {verdict.lower()}" for verdict, count in sorted(counts.items()))
    print(f"{len(paths)} files: {total}")
    return 1 if any(verdict.isupper() for verdict in counts) else 0


if __name__ == "__main__":
    threading.stack_size(512 * 1024 * 1024)
    status = []
    thread = threading.Thread(target=lambda: status.append(main()))
    thread.start()
    thread.join()
    sys.exit(status[0] if status else 1)
