#!/usr/bin/env python3
"""`./dev new KIND NAME`: the files of a new pass, op, kernel or verb, right from the first minute.

The files come from scripts/templates/KIND; `@name@`, `@Name@` and `@dashed@` in their text and names are the three spellings
of NAME. A line `@@ FILE @@ MARKER` in KIND.edits says where a piece is put into a file that exists, and KIND.next what to do then.
"""
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "scripts" / "templates"


def spellings(name):
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    if not words or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise SystemExit(f"./dev new: `{name}` is no name; use words like fold_casts or FoldCasts")
    words = [word.lower() for word in words]
    camel = "".join(word.capitalize() for word in words)
    return {"@name@": "_".join(words), "@Name@": camel, "@camel@": camel[0].lower() + camel[1:], "@dashed@": "-".join(words)}


def spell(text, names):
    for mark, name in names.items():
        text = text.replace(mark, name)
    return text


def edits(root, kind, names):
    """(file, marker, piece) of each edit: the piece goes before the line that holds the marker."""
    path = TEMPLATES / f"{kind}.edits"
    if not path.exists():
        return
    for part in re.split(r"^(?=@@ )", path.read_text(), flags=re.M):
        if part.startswith("@@ "):
            head, _, piece = part.partition("\n")
            _, file, marker = (word.strip() for word in head.split("@@"))
            yield root / spell(file, names), marker, spell(piece, names)


def main(root, words):
    kinds = sorted(path.name for path in TEMPLATES.iterdir() if path.is_dir())
    if words in (["-h"], ["--help"]):
        print(f"usage: ./dev new {'|'.join(kinds)} NAME\n\n{__doc__}")
        return 0
    if len(words) != 2 or words[0] not in kinds:
        print(f"usage: ./dev new {'|'.join(kinds)} NAME", file=sys.stderr)
        return 2
    kind, names = words[0], spellings(words[1])
    made = []
    for template in sorted((TEMPLATES / kind).rglob("*")):
        if template.is_file():
            made.append((root / spell(str(template.relative_to(TEMPLATES / kind)).removesuffix(".in"), names),
                         spell(template.read_text(), names)))
    changed = {}
    for path, marker, piece in edits(root, kind, names):
        if path not in changed:
            changed[path] = path.read_text() if path.exists() else ""
        lines = changed[path].splitlines(keepends=True)
        at = next((i for i, line in enumerate(lines) if marker in line), None)
        if at is None:
            print(f"./dev new: {path.relative_to(root)} has no line with `{marker}`; is this room there yet?", file=sys.stderr)
            return 3
        if piece in changed[path]:
            print(f"./dev new: {path.relative_to(root)} has this {kind} already", file=sys.stderr)
            return 1
        changed[path] = "".join(lines[:at]) + piece + "".join(lines[at:])
    taken = [path for path, _ in made if path.exists()]
    if taken:
        print(f"./dev new: {taken[0].relative_to(root)} is there already", file=sys.stderr)
        return 1
    for path, text in made + list(changed.items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"{'changed' if path in changed else 'made   '} {path.relative_to(root)}")
    tidy(root, [path for path, _ in made] + list(changed))
    following = TEMPLATES / f"{kind}.next"
    if following.exists():
        print(spell(following.read_text(), names), end="")
    return 0


def tidy(root, paths):
    """A name's length moves line breaks, and its first letter the order of includes."""
    sources = [path for path in paths if path.suffix in (".cpp", ".h")]
    if sources and shutil.which("clang-format-19"):
        subprocess.run(["clang-format-19", "-i", "--style=file:" + str(ROOT / ".clang-format"), *sources], check=True,
                       timeout=60)


if __name__ == "__main__":
    sys.exit(main(ROOT, sys.argv[1:]))
