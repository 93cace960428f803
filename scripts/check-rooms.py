#!/usr/bin/env python3
"""Hold every include to the table of rooms.

A room may include its own files, those of the rooms it names, and what those may include. Prints one line
`file:line: ...` for each include that breaks a wall, and exits 1 if there is one.
"""
import argparse
import pathlib
import re
import sys

# room: rooms that it may include directly. Lowest first; the table of docs/rooms/README.md, as data.
ROOMS = {
    "support": [],
    "syntax": ["support"],
    "target": ["support"],
    "ir": ["support"],
    "ops": ["ir"],
    "emit": ["syntax", "ops"],
    "analysis": ["ir", "target"],
    "transforms": ["analysis"],
    "ref": ["ir"],
    "gpu": ["transforms"],
    "cpu": ["transforms"],
    "pipeline": ["emit", "gpu", "cpu", "ref"],
    "runtime": ["support", "target"],
    "launch": ["runtime"],
    "api": ["launch"],
    "engine": ["api", "pipeline"],
    "kernels": ["engine"],
    "tools": ["engine"],
    "python": ["engine"],
}
# Rooms that do not lie in src/.
PLACES = {"python": "python/binding"}
# The room where MLIR comes in: it and every room that may include it may include MLIR and LLVM.
MLIR_ROOM = "ir"
# Rooms that implement the public headers, and so include all of them; the others see only the lowest.
PUBLIC_ROOMS = {"api", "engine", "kernels", "tools", "python"}
LOWEST_HEADER = "nereid/base.h"

INCLUDE = re.compile(r'^\s*#?\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
SUFFIXES = {".h", ".cpp", ".inc", ".def", ".td", ".c"}
# The C library's own headers; `std` headers have neither a dot nor a slash.
C_HEADERS = {"stdint.h", "stddef.h", "stdbool.h", "string.h", "stdio.h", "stdlib.h"}


def closure(room):
    """The rooms that `room` may include, itself among them."""
    reached, todo = set(), [room]
    while todo:
        one = todo.pop()
        if one not in reached:
            reached.add(one)
            todo.extend(ROOMS[one])
    return reached


def complaint(room, included):
    """Why a file of `room` may not include `included`, or None."""
    top = included.split("/", 1)[0]
    allowed = closure(room)
    if top in ("mlir", "mlir-c", "llvm", "llvm-c", "clang"):
        if MLIR_ROOM not in allowed:
            return f"`{room}` may not include LLVM or MLIR (`{included}`)"
    elif top in ROOMS and "/" in included:
        if top not in allowed:
            named = ", ".join(ROOMS[room]) or "nothing"
            return f"`{room}` may not include `{included}`: it may include {named} and what those may include"
    elif top == "nereid" and included != LOWEST_HEADER and room not in PUBLIC_ROOMS:
        return f"`{room}` may not include the public header `{included}`, only `{LOWEST_HEADER}`"
    return None


def public_complaint(included, quoted):
    """Why a public header may not include `included`, or None."""
    if included.startswith("nereid/"):
        return None
    if not quoted and ("/" not in included and "." not in included or included in C_HEADERS):
        return None
    return f"a public header may include only `std` and `nereid/`, not `{included}`"


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) or match.group(2), match.group(1) is not None


def declared_rooms(root):
    """What the CMake files say: room -> (depends, uses MLIR)."""
    declared = {}
    for cmake in sorted(root.glob("src/*/CMakeLists.txt")):
        match = re.search(r"nereid_room\(\s*(\w+)([^)]*)\)", cmake.read_text())
        if match:
            words = match.group(2).split()
            depends = []
            if "DEPENDS" in words:
                depends = words[words.index("DEPENDS") + 1 :]
                if "LIBRARIES" in depends:
                    depends = depends[: depends.index("LIBRARIES")]
            declared[match.group(1)] = (cmake, depends, "MLIR" in words)
    return declared


def check(root):
    """All complaints about the tree at `root`, and the number of files read."""
    found, files = [], 0

    def complain(path, line, text):
        found.append(f"{path.relative_to(root)}:{line}: {text}")

    places = [(root / PLACES.get(room, f"src/{room}"), room) for room in ROOMS]
    places += [(root / "test" / "unit" / room, room) for room in ROOMS]
    for folder, room in places:
        for path in sorted(folder.rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                files += 1
                for line, included, _ in includes(path):
                    text = complaint(room, included)
                    if text:
                        complain(path, line, text)
    for path in sorted((root / "include").rglob("*.h")):
        files += 1
        for line, included, quoted in includes(path):
            text = public_complaint(included, quoted)
            if text:
                complain(path, line, text)

    for folder in sorted((root / "src").iterdir() if (root / "src").is_dir() else []):
        if folder.is_dir() and folder.name not in ROOMS:
            complain(folder, 1, f"`{folder.name}` is not a room of the table")
    for room, (cmake, depends, mlir) in declared_rooms(root).items():
        if room not in ROOMS:
            continue
        if set(depends) - closure(room):
            extra = ", ".join(sorted(set(depends) - closure(room)))
            complain(cmake, 1, f"`{room}` may not depend on {extra}")
        if mlir and MLIR_ROOM not in closure(room):
            complain(cmake, 1, f"`{room}` may not link MLIR")
    return found, files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    found, files = check(arguments.root)
    for line in found:
        print(line)
    print(f"rooms: {files} files, {len(found)} includes through a wall")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
