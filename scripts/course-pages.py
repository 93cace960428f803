#!/usr/bin/env python3
"""Bring the measured rows of docs/course into its pages: tables from committed results, and the plots that pages draw.

usage: scripts/course-pages.py [--check] [PAGE...]

A table stands between two comments; the first says which rows it has:

    <!-- rows(file="results/kernels/nvidia-h200.json", kernel="softmax", shape="M=16384*", columns=["variant", "us", ("bytes", "bytes_moved", ",.0f")]) -->
    <!-- end -->

`file` is below docs. `kernel`, `variant`, `shape`, `claim` and `where` choose rows: patterns of a shell's, lists of them, and an expression.
`best` keeps the fastest row of those that agree in this expression, `sort` is an expression too. A column is one of COLUMNS, or (name,
expression, format); expressions see a row's fields, what its case and configuration bind, and NAMES. Below the table it says on what the
rows were measured, and when.

A line of a page that begins with `nereid bench --rows` and has `--plot` draws a plot from committed rows; it is run here, from the root
of the repository. --check changes nothing, and fails if a table or a plot is not what the results say.
"""
import argparse
import ast
import fnmatch
import functools
import json
import math
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from measured_rows import by_peer

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^(<!-- rows\((.*?)\) -->\n)(.*?)(^<!-- end -->)$", re.S | re.M)


NAMES = dict(cdiv=lambda a, b: -(-a // b), str=str, min=min, max=max, int=int, round=round, sum=sum, len=len, log2=math.log2, sqrt=math.sqrt)
COLUMNS = {
    "variant": ("variant", "'`' + variant + '`'", ""),
    "folder": ("folder", "'`' + kernel + '`'", ""),
    "case": ("case", "shape", ""),
    "launches": ("launches", "launches", ",.0f"),
    "us": ("us", "us", "us"),
    "MB": ("MB moved", "bytes_moved / 1e6", ",.0f"),
    "GB/s": ("GB/s", "gbps", ",.0f"),
    "of copy": ("of a copy", "copy_share", ".0%"),
    "Tflop/s": ("Tflop/s", "gflops / 1e3", ".0f"),
    "triton": ("Triton's time by ours", "peer('triton')", ".2f"),
    "torch": ("PyTorch's time by ours", "peer('torch')", ".2f"),
    "cublaslt": ("cuBLASLt's time by ours", "peer('cublaslt')", ".2f"),
    "cudnn": ("cuDNN's time by ours", "peer('cudnn')", ".2f"),
}


@functools.cache
def results(file):
    """(machine, date, row) of a file that `nereid bench` or scripts/measure-kernels.py wrote."""
    whole = json.loads((DOCS / file).read_text())
    found = []

    def add(measured, machine, **more):
        found.append((machine.get("description") or machine["device"], measured.get("date") or machine["date"], measured | more))

    for run in whole.get("runs", []):
        for claim in run["claims"]:
            for name, rows in claim["rows"].items():
                for row in rows if isinstance(rows, list) else [rows]:
                    add(row, run, claim=claim["name"], row=name)
    machine = whole.get("machine") or (whole.get("machines") or [None])[0]
    for row in whole.get("rows", []):
        add(row, machine)
    return found


def bindings(text):
    """`n=64 dtype=f16` as a dict."""
    pairs = re.findall(r"(\w+)=(\S+)", text or "")
    return {name: int(value) if re.fullmatch(r"-?\d+", value) else value for name, value in pairs}


def names_of(row):
    case = row["case"] if isinstance(row.get("case"), dict) else bindings(row.get("shape"))
    seconds = row.get("seconds")
    # Bytes a second of a large copy on the machine of the row.
    copy = row["gbps"] * 1e9 / row["copy_share"] if row.get("gbps") and row.get("copy_share") else None
    fields = dict(config="", variant="", kernel="", shape="")
    return NAMES | fields | bindings(row.get("config")) | case | row | dict(us=seconds and seconds * 1e6, copy=copy, peer=lambda name: by_peer(row, name))


def value(expression, row):
    return eval(expression, {"__builtins__": {}}, names_of(row))


def cell(expression, form, row):
    found = value(expression, row)
    if found is None:
        return ""
    if form == "us":  # three digits at least
        form = ",.0f" if found >= 100 else ".1f"
    return format(found, form)


def matches(text, wanted):
    return wanted is None or any(fnmatch.fnmatchcase(text or "", one) for one in ([wanted] if isinstance(wanted, str) else wanted))


def table(file, columns, kernel=None, variant=None, shape=None, claim=None, where=None, best=None, sort=None):
    found = [one for one in results(file) if matches(one[2].get("kernel"), kernel) and matches(one[2].get("variant"), variant)
             and matches(one[2].get("shape"), shape) and matches(one[2].get("claim"), claim) and (where is None or value(where, one[2]))]
    if best:
        fastest = {}
        for one in found:
            key = value(best, one[2])
            if key not in fastest or one[2]["seconds"] < fastest[key][2]["seconds"]:
                fastest[key] = one
        found = list(fastest.values())
    if sort:
        found.sort(key=lambda one: value(sort, one[2]))
    if not found:
        raise ValueError(f"no row of {file} is {dict(kernel=kernel, variant=variant, shape=shape, claim=claim, where=where)}")
    columns = [COLUMNS[one] if isinstance(one, str) else one for one in columns]
    cells = [[cell(expression, form, row) for _, expression, form in columns] for _, _, row in found]
    lines = ["| " + " | ".join(name for name, _, _ in columns) + " |", "|" + "|".join("--:" if form else "---" for _, _, form in columns) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in cells]
    where_and_when = sorted({f"{machine}, {date}" for machine, date, _ in found})
    return "\n".join(lines + ["", f"{'; '.join(where_and_when)} ([rows](../{file}))"]) + "\n"


def filled(text):
    def fill(block):
        call = ast.parse(f"rows({block.group(2)})", mode="eval").body
        return block.group(1) + "\n" + table(**{word.arg: ast.literal_eval(word.value) for word in call.keywords}) + block.group(4)
    return BLOCK.sub(fill, text)


def plots(text):
    """The words of each command that draws a plot from committed rows."""
    lines = [line.strip() for line in text.splitlines() if re.match(r" {4}nereid bench --rows .*--plot ", line)]
    return [shlex.split(line) for line in lines]


def draw(nereid, words, to):
    words = [str(nereid), *words[1:]]
    words[words.index("--plot") + 1] = str(to)
    subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin", help="where the command is")
    parser.add_argument("--check", action="store_true", help="change nothing; fail where something would")
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="all of docs/course by default")
    arguments = parser.parse_args()
    nereid = (ROOT / arguments.bin / "nereid").resolve()
    stale = []
    for page in arguments.pages or sorted((DOCS / "course").glob("*.md")):
        text = page.read_text()
        try:
            new = filled(text)
        except (ValueError, KeyError, NameError, TypeError, SyntaxError) as error:
            raise SystemExit(f"{page}: {type(error).__name__}: {error}")
        if new != text:
            stale.append(f"{page}: a table is not what its results say")
            if not arguments.check:
                page.write_text(new)
        for words in plots(text):
            drawn = ROOT / words[words.index("--plot") + 1]
            with tempfile.TemporaryDirectory() as folder:
                draw(nereid, words, pathlib.Path(folder) / "plot.svg")
                svg = (pathlib.Path(folder) / "plot.svg").read_text()
            if not drawn.exists() or drawn.read_text() != svg:
                stale.append(f"{drawn}: not what {page.name} draws")
                if not arguments.check:
                    drawn.write_text(svg)
    print("\n".join(stale) if stale else "all pages are as their results say")
    if stale and arguments.check:
        print("scripts/course-pages.py brings them up to date")
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
