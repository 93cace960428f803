#!/usr/bin/env python3
"""Name the functions of our C++ that are longer than a reader holds in mind: over `--most` lines (110).

A function is what braces enclose behind a parameter list, outside of other functions; a lambda counts to the one around it. Prints
`file:line: N lines: HEAD` for each, the longest first, and exits 1 if there is one.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACES = ("src", "include", "python", "bench", "test", "examples")
MOST = 110

# What braces within do not count: comments, strings and characters become blanks of the same lines.
QUIET = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*',
                   re.S | re.M)
BLOCK = re.compile(r"\b(namespace|class|struct|union|enum)\b|\bextern\s*$")


def quiet(text):
    return QUIET.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def functions(text):
    """(first line, lines, head) of each function."""
    plain = quiet(text)
    opened, since = [], 0  # what each open brace is; where the text before the next one begins
    for at, c in ((found.start(), found.group()) for found in re.finditer(r"[{};]", plain)):
        inside = bool(opened) and opened[-1][0] != "block"
        if c == "{":
            head = plain[since:at]
            if inside:
                opened.append(("inner", at, ""))
            elif BLOCK.search(head.split("(")[0]) and not re.search(r"\)\s*(?:const|noexcept|override|final|->[^;]*)?\s*$", head):
                opened.append(("block", at, ""))
            elif ")" in head:
                begins = at - len(head.lstrip())
                opened.append(("function", begins, " ".join(text[begins:at].split())))
            else:
                opened.append(("inner", at, ""))
        elif c == "}" and opened:
            kind, begins, head = opened.pop()
            # Behind a member that a constructor sets in braces its head goes on.
            if kind == "function" and re.match(r"\s*[,{]", plain[at + 1:at + 80]):
                since = begins
                continue
            if kind == "function":
                yield plain.count("\n", 0, begins) + 1, plain.count("\n", begins, at) + 1, head
        if not (opened and opened[-1][0] != "block"):
            since = at + 1


def ours():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *PLACES], cwd=ROOT, capture_output=True,
                           text=True, check=True).stdout.split("\n")
    return [ROOT / name for name in names if name.endswith((".cpp", ".h")) and (ROOT / name).is_file()]


def longest(files, most=MOST):
    found = []
    for file in files:
        for line, lines, head in functions(file.read_text()):
            if lines > most:
                found.append((lines, file, line, head))
    return sorted(found, key=lambda one: (-one[0], one[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    found = longest([file.resolve() for file in options.files] or ours(), options.most)
    for lines, file, line, head in found:
        print(f"{file.relative_to(ROOT)}:{line}: {lines} lines: {head[:100]}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
