"""Machine code of a cubin as text, an instruction a line behind what its control bits say: the barriers that it waits for (a mask),
the one that it releases when its operands are read, the one when its result is there, whether another warp may go first, and the cycles it stalls."""
import os
import re
import subprocess
import tempfile

from .. import knobs

__all__ = ["extract", "get_sass", "path_to_cuobjdump"]
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*/\* 0x([0-9a-f]{16}) \*/")
_SECOND_HALF = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/")
_FUNCTION = re.compile(r"\s*Function\s*:\s*(\S+)")
_TARGET = re.compile(r"(.*\b(?:BRA|BSSY|BRX|CALL|WARPSYNC|RET)\b.*?)(?:`\(\S+\)|\b)0x([0-9a-f]+)$")
_NO_BARRIER = 7


def path_to_cuobjdump():
    """(the program, its version)."""
    tool = knobs.nvidia.cuobjdump
    return tool.path, tool.version


def _control(second):
    """Bits 41 to 57 of an instruction's second half, as text."""
    stall, yields, write, read, wait = (second >> at & (1 << bits) - 1 for at, bits in ((41, 4), (45, 1), (46, 3), (49, 3), (52, 6)))
    barriers = ("-" if one == _NO_BARRIER else str(one) for one in (read, write))
    return ":".join([f"{wait:02d}" if wait else "--", *barriers, "-" if yields else "Y", f"{stall:x}"])


def _function(name, lines):
    """One function's text; the places that are jumped to have labels."""
    found, places = [], {}
    for at, line in enumerate(lines):
        if one := _INSTRUCTION.match(line):
            second = _SECOND_HALF.match(lines[at + 1]) if at + 1 < len(lines) else None
            jump = _TARGET.match(one[2])
            if jump:
                places.setdefault(int(jump[2], 16), f"LBB{len(places)}")
            found.append((int(one[1], 16), _control(int(second[1], 16)) if second else "", one[2], jump))
    text = [f"Function:{name}"]
    for place, control, words, jump in found:
        if place in places:
            text.append(f"{places[place]}:")
        text.append(f"{control}\t{jump[1] + places[int(jump[2], 16)] if jump else words};")
    return "\n".join(text) + "\n"


def extract(file_path, fun=None):
    """The machine code of a file, or of one function of it."""
    command = [path_to_cuobjdump()[0], "-sass", *(["-fun", fun] if fun else []), file_path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"cuobjdump cannot read {file_path}: {done.stdout.strip()}")
    functions = []
    for line in done.stdout.splitlines():
        if start := _FUNCTION.match(line):
            functions.append((start[1], []))
        elif functions:
            functions[-1][1].append(line)
    return "\n".join(_function(*one) for one in functions)


def get_sass(cubin_asm, fun=None):
    """The machine code of `kernel.asm["cubin"]`."""
    descriptor, path = tempfile.mkstemp(suffix=".cubin")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(cubin_asm)
        return extract(path, fun)
    finally:
        os.unlink(path)
