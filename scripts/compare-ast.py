#!/usr/bin/env python3
"""Compare our syntax trees with those of the running Python, or of another.

    compare-ast.py [--tool .../nereid-ast] [--jobs 2] [--limit N] [--strict] [--python 3.13] PATH...
    compare-ast.py --mutate N [--seed S] PATH...

Each PATH is a file or a folder (searched for *.py); none means the standard library, without what is
installed below it. The tool is looked for in PATH, then in build/dev/bin. A file passes if
both accept it and the trees are equal to the last column, or both reject it. What only we accept is
counted as "newer syntax": CPython's parser is the older one then.

Known differences, counted as "equal but for":
  - the value of a character given by name (`\\N{NAME}`), and identifiers that are not in normal form
    NFKC, which we do not normalise;
  - encodings beyond UTF-8, ASCII and Latin-1.
Positions inside f-strings: CPython 3.11 and 3.12 put them elsewhere than 3.13 (and we). They are
compared with --strict only, which is meant for Python 3.13.

With --mutate, N times a few lines are taken from one of the files, a token or two of them is dropped,
doubled, swapped or replaced, and both must accept or both reject the result. Meant for Python 3.13.

--python VERSION fetches an interpreter of that version from the package index, to have the trees of.
"""
import argparse
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
import warnings

import tree_text
import wheels

def first_difference(ours, want):
    i = next((i for i, (a, b) in enumerate(zip(ours, want)) if a != b), min(len(ours), len(want)))
    return f"    ours   ...{ours[max(i - 80, 0):i + 120]}\n    theirs ...{want[max(i - 80, 0):i + 120]}"


ESCAPED = r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"
IDENTIFIER = re.compile(rf"\b(id|arg|name|attr|asname)='((?:\w|{ESCAPED})*)'")


def normalise(ours):
    """Identifiers in NFKC, as CPython's tokenizer makes them."""
    def one(match):
        name = match[2].encode("ascii").decode("unicode_escape")
        return f"{match[1]}={ascii(unicodedata.normalize('NFKC', name))}"
    return IDENTIFIER.sub(one, ours)


def equal_but_for_known(ours, want):
    ours = normalise(ours)
    if ours == want:
        return True
    first, *rest = ours.split("\\ufffd")
    at = len(first)
    if not rest or not want.startswith(first):
        return False
    for part in rest:
        # A name may stand for a sequence of characters.
        for _ in range(5):
            character = re.compile(rf"{ESCAPED}|.").match(want, at)
            if not character:
                return False
            at = character.end()
            if want.startswith(part, at):
                break
        else:
            return False
        at += len(part)
    return at == len(want)


def theirs(python, strict, paths):
    """For each path the tree's text and why there is none, one of them None."""
    if not python:
        return [tree_text.tree(path, not strict) for path in paths]
    command = [python, tree_text.__file__] + ([] if strict else ["--loose"])
    done = subprocess.run(command, input="".join(path + "\n" for path in paths).encode(), stdout=subprocess.PIPE, check=True)
    return [(None, line[len("error: "):]) if line.startswith("error: ") else (line, None) for line in done.stdout.decode().splitlines()]


def compare(task):
    tool, python, strict, paths = task
    listing = "".join(path + "\n" for path in paths)
    command = [tool, "--ascii" if strict else "--loose", "--files", "-"]
    done = subprocess.run(command, input=listing.encode(), stdout=subprocess.PIPE)
    lines = done.stdout.decode("ascii", "backslashreplace").split("\n")
    results = []
    if len(lines) != len(paths) + 1:
        return [("CRASH", paths[min(len(lines) - 1, len(paths) - 1)],
                 f"{len(lines) - 1} trees of {len(paths)}, exit status {done.returncode}")]
    for path, ours, (want, error) in zip(paths, lines, theirs(python, strict, paths)):
        rejected = ours.startswith("error: ")
        if want is None:
            results.append(("both reject" if rejected else "newer syntax", path, error))
        elif rejected and re.search("encoding `.*` is not supported", ours):
            results.append(("equal but for encoding", path, ""))
        elif rejected:
            results.append(("REJECTED", path, ours))
        elif ours != want and equal_but_for_known(ours, want):
            results.append(("equal but for names", path, ""))
        elif ours != want:
            results.append(("DIFFERENT", path, first_difference(ours, want)))
        else:
            results.append(("equal", path, ""))
    return results


TOKEN = re.compile(rb"[A-Za-z_]\w*|\d[\w.]*|[ \t]+|\n[ \t]*|[*/<>]{2}=?|[-+*/%@&|^<>=!:]=|->|.", re.S)
SPICE = rb"""( ) [ ] { } : , ; . = == := * ** / // @ -> ~ - + not in is if else elif for while def class lambda
yield await async with as try except finally from import return del global nonlocal assert raise pass match
case type _ None True 1 0x 1_0 1.5e 2j x '' "a" f'' f'{ } f'{x!r:>{w}}' b'' rb'' u'' \\ # ... ! $ ?""".split()


def mutants(paths, count, seed, folder):
    rng = random.Random(seed)
    made = []
    while len(made) < count:
        with open(rng.choice(paths), "rb") as file:
            lines = file.read().splitlines(keepends=True)
        if not lines:
            continue
        start = rng.randrange(len(lines))
        piece = lines[start:start + rng.randint(1, 12)]
        margin = min((len(l) - len(l.lstrip(b" ")) for l in piece if l.strip()), default=0)
        tokens = TOKEN.findall(b"".join(line[margin:] for line in piece))
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            if not tokens:
                break
            i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
            what = rng.randrange(5)
            if what == 0:
                del tokens[i]
            elif what == 1:
                tokens.insert(i, tokens[j])
            elif what == 2:
                tokens[i], tokens[j] = tokens[j], tokens[i]
            elif what == 3:
                tokens[i] = rng.choice(SPICE)
            else:
                tokens.insert(i, b" " + rng.choice(SPICE) + b" ")
        path = os.path.join(folder, f"mutant{len(made)}.py")
        with open(path, "wb") as file:
            file.write(b"".join(tokens))
        made.append(path)
    return made


def find(paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, subfolders, names in os.walk(path):
            skipped = ["__pycache__"] + (["site-packages", "dist-packages"] if folder == path else [])
            subfolders[:] = sorted(s for s in subfolders if s not in skipped)
            for name in sorted(names):
                if name.endswith(".py"):
                    yield os.path.join(folder, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tool", default=shutil.which("nereid-ast") or os.path.join(
        os.path.dirname(__file__), "..", "build", "dev", "bin", "nereid-ast"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--strict", action="store_true", help="compare positions inside f-strings")
    parser.add_argument("--python", metavar="VERSION", help="compare with this one, of the package index")
    parser.add_argument("--mutate", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", default="", metavar="FOLDER", help="for the mutants")
    parser.add_argument("--verbose", action="store_true", help="also list what both reject")
    parser.add_argument("paths", nargs="*", default=[os.path.dirname(os.__file__)])
    options = parser.parse_args()

    warnings.simplefilter("ignore")
    tree_text.unlimited()
    python = wheels.interpreter(options.python) if options.python else None
    if options.python and not python:
        return 1
    paths = [path for path in find(options.paths) if "\n" not in path]
    if options.limit:
        paths = paths[:options.limit]
    folder = None
    if options.mutate:
        print(f"seed {options.seed}")
        folder = options.keep or tempfile.mkdtemp()
        os.makedirs(folder, exist_ok=True)
        paths = mutants(paths, options.mutate, options.seed, folder)
    tasks = [(options.tool, python, options.strict, paths[i:i + 20]) for i in range(0, len(paths), 20)]
    counts = {}
    with multiprocessing.Pool(options.jobs) as pool:
        for results in pool.imap(compare, tasks):
            for verdict, path, detail in results:
                if options.mutate and verdict == "newer syntax":
                    verdict = "ACCEPTED"
                counts[verdict] = counts.get(verdict, 0) + 1
                if verdict.isupper() or (options.verbose and not verdict.startswith("equal")):
                    print(f"{verdict}: {path}\n{detail}")
    total = ", ".join(f"{count} {verdict.lower()}" for verdict, count in sorted(counts.items()))
    print(f"{len(paths)} files: {total}")
    return 1 if any(verdict.isupper() for verdict in counts) else 0


if __name__ == "__main__":
    sys.exit(tree_text.inThread(main))
