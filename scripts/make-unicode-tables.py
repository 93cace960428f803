#!/usr/bin/env python3
"""Print src/syntax/UnicodeTables.inc from the Unicode data of the running Python.

Each table lists the places where a property of code points changes, from 0x80 up: the property is
false before the first number, true from it on, false again from the second, and so on.
"""
import unicodedata

TABLES = {
    "IdentifierStart": lambda c: c.isidentifier(),
    "IdentifierContinue": lambda c: ("a" + c).isidentifier(),
    "Printable": lambda c: c.isprintable(),
}


def changes(holds):
    state = False
    for code in range(0x80, 0x110000):
        now = holds(chr(code))
        if now != state:
            state = now
            yield code


print(f"// Unicode {unicodedata.unidata_version}, written by scripts/make-unicode-tables.py.")
for name, holds in TABLES.items():
    print(f"constexpr uint32_t {name}Changes[] = {{")
    line = "   "
    for code in changes(holds):
        word = f" {code:#x},"
        if len(line) + len(word) > 100:
            print(line)
            line = "   "
        line += word
    print(line)
    print("};")
