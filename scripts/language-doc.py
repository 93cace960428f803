#!/usr/bin/env python3
"""Rewrite the generated parts of docs/language.md and of nereid/tl.h.

    scripts/language-doc.py              all of them; needs nereid-language-doc of the dev or the release build
    scripts/language-doc.py --results    only the results on real code: docs/results/*.json, test/corpus/results
    scripts/language-doc.py --check      fail if the results are stale (`unit_ops` does that for the vocabulary)

docs/results/README.md has the format of the results.
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "language.md"
HEADERS = ("options", "methods", "functions")
COUNTS = ("files", "kernels", "emitted", "ran", "agreed")


def between(page, name, text):
    """`page` with what stands between the two markers of `name` replaced."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return before + begin + text + end + after


def vocabulary(*part):
    """What the table of the vocabulary says, or a part of nereid/tl.h that is made of it."""
    tools = [ROOT / "build" / preset / "bin" / "nereid-language-doc" for preset in ("dev", "release")]
    # The one built last: another may be of before a change of the table.
    tool = max((path for path in tools if path.exists()), key=lambda path: path.stat().st_mtime, default=None)
    if not tool:
        raise SystemExit("build the target nereid-language-doc first")
    return subprocess.run([tool, *part], check=True, capture_output=True, text=True, timeout=60).stdout


def readResults(folder):
    """The results in order of their files' names; those that contradict themselves are refused."""
    found = []
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        result = json.loads(path.read_text())
        counts = [result[name] for name in COUNTS[1:] if name in result]
        missing = sum(miss["count"] for miss in result["misses"])
        if sorted(counts, reverse=True) != counts:
            raise SystemExit(f"{path}: the counts grow: {counts}")
        if counts[0] - counts[-1] != missing:
            raise SystemExit(f"{path}: {counts[0] - counts[-1]} are missing, the reasons say {missing}")
        found.append(result)
    return found


def cell(text):
    return str(text).replace("|", "\\|")


def tables(results):
    lines = []
    for title, chosen in (("Results by package", [r for r in results if "against" not in r]),
                          ("Agreement with Triton's interpreter", [r for r in results if "against" in r])):
        if not chosen:
            continue
        lines += [f"### {title}", "", "| package | version | files | kernels | emitted | ran | agreed |", "|---|---|--:|--:|--:|--:|--:|"]
        lines += [f"| {cell(r['package'])} | {cell(r['version'])} | " + " | ".join(str(r.get(name, "-")) for name in COUNTS) + " |" for r in chosen]
        misses = [(r["package"], miss) for r in chosen for miss in r["misses"]]
        if misses:
            lines += ["", "| misses | package | reason | for example |", "|--:|---|---|---|"]
            lines += [f"| {miss['count']} | {cell(package)} | {cell(miss['reason'])} | `{cell(miss['example'])}` |" for package, miss in misses]
        lines.append("")
    return "\n".join(lines)


def corpusTable():
    """The counts that `./dev corpus --results` wrote, as Markdown."""
    counts = json.loads((ROOT / "test" / "corpus" / "results" / "counts.json").read_text())
    names = {"list": "files listed as CPython does", "emit": "specialisations to tile IR", "ptx": "to PTX for sm_90a, assembled",
             "ref": "launches on ref", "cpu": "launches on cpu"}
    lines = ["| package | kernels | " + " | ".join(names.values()) + " |", "|---|--:|" + "--:|" * len(names)]
    for package, count in sorted(counts.items()):
        cells = [f"{good} of {tried}" for good, tried in (count["steps"][step] for step in names)]
        lines.append(f"| `{package}` | {count['kernels']} | " + " | ".join(cells) + " |")
    reasons = [(package, reason, times) for package, count in sorted(counts.items()) for reason, times in sorted(count["reasons"].items())]
    if reasons:
        lines += ["", "| package | misses | reason |", "|---|--:|---|"]
        lines += [f"| `{package}` | {times} | {reason.replace('|', chr(92) + '|')} |" for package, reason, times in reasons]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--results", action="store_true", help="only the results on real code")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the results are stale")
    options = parser.parse_args()
    page = PAGE.read_text()
    fresh = between(page, "results", tables(readResults(ROOT / "docs" / "results")))
    fresh = between(fresh, "corpus", corpusTable())
    if options.check:
        if fresh != page:
            print("docs/language.md is stale: run scripts/language-doc.py --results", file=sys.stderr)
        return int(fresh != page)
    PAGE.write_text(fresh if options.results else between(fresh, "generated", vocabulary()))
    if not options.results:
        for part in HEADERS:
            (ROOT / "include" / "nereid" / f"tl_{part}.inc").write_text(vocabulary(part))
    return 0


if __name__ == "__main__":
    sys.exit(main())
