#!/usr/bin/env python3
"""Rewrite the generated parts of docs/language.md: from the table of the vocabulary, and from the counts of the corpus.

Builds nothing: takes nereid-language-doc of the dev or the release build. `unit_ops` and test/scripts/test_corpus.py
fail while the page is stale.
"""
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"
CORPUS_BEGIN, CORPUS_END = "<!-- corpus: begin -->\n", "<!-- corpus: end -->\n"


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
    tools = [ROOT / "build" / preset / "bin" / "nereid-language-doc" for preset in ("dev", "release")]
    tool = next((path for path in tools if path.exists()), None)
    if not tool:
        raise SystemExit("build the target nereid-language-doc first")
    table = subprocess.run([tool], check=True, capture_output=True, text=True, timeout=60).stdout
    page = ROOT / "docs" / "language.md"
    before, rest = page.read_text().split(BEGIN)
    _, after = rest.split(END)
    middle, rest = after.split(CORPUS_BEGIN)
    _, after = rest.split(CORPUS_END)
    page.write_text(before + BEGIN + table + END + middle + CORPUS_BEGIN + corpusTable() + CORPUS_END + after)


if __name__ == "__main__":
    main()
