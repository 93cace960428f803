#!/usr/bin/env python3
"""Rewrite the generated part of docs/language.md from the table of the vocabulary.

Builds nothing: takes nereid-language-doc of the dev or the release build. `unit_ops` fails while the page is stale.
"""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"


def main():
    tools = [ROOT / "build" / preset / "bin" / "nereid-language-doc" for preset in ("dev", "release")]
    tool = next((path for path in tools if path.exists()), None)
    if not tool:
        raise SystemExit("build the target nereid-language-doc first")
    table = subprocess.run([tool], check=True, capture_output=True, text=True, timeout=60).stdout
    page = ROOT / "docs" / "language.md"
    before, rest = page.read_text().split(BEGIN)
    _, after = rest.split(END)
    page.write_text(before + BEGIN + table + END + after)


if __name__ == "__main__":
    main()
