"""Joins what `triton.tools.compile` made of one kernel, as Triton's command line of this name does:

    python -m nereid -m triton.tools.link add.*.h -o add

writes `add.h` and `add.c`: `CUresult add(CUstream, arguments..., int algo_id)` launches, of the specialisations with those constants, warps and
stages, the one with the most hints that the arguments fulfil; `add_default` does so with the first, `add_get_num_algos` counts them, and
`load_add` and `unload_add` load them all.
"""
import re
from argparse import ArgumentParser
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from .compile import INCLUDES

DIRECTIVE = re.compile(r"//\s*tt-linker:\s*(\w+):(.+):(.+)")
NAME = re.compile(r"(\w+)_([0-9a-f]+)_(\w*)")


class LinkerError(Exception):
    pass


@dataclass
class Specialisation:
    name: str
    kernel: str
    parameters: str
    algorithm: str
    hints: dict  # index of a parameter of the kernel that must be 1 or a multiple of 16

    def __post_init__(self):
        self.types, self.names = zip(*(one.strip().rsplit(" ", 1) for one in self.parameters.split(",")))


def read(text):
    """The specialisations that a header declares."""
    found = []
    for line in text.splitlines():
        if match := DIRECTIVE.match(line):
            name, parameters, algorithm = match.groups()
            parts = NAME.fullmatch(name)
            if parts is None:
                raise LinkerError(f"{name} is not a name that `triton.tools.compile` makes")
            hints = {int(index): {"c": 1, "d": 16}[kind] for index, kind in re.findall(r"(\d+)([cd])", parts[3])}
            found.append(Specialisation(name, parts[1], parameters, algorithm, hints))
    return found


def _condition(one):
    """In C, whether arguments fulfil the hints. Hints count the kernel's parameters, of which the constants between are none here."""
    tests = []
    for index, hint in one.hints.items():
        if index >= len(one.names):
            raise LinkerError(f"{one.name} has a hint for parameter {index}, but constants stand before it: put them last")
        tests.append(f"{one.names[index]} {'== 1' if hint == 1 else '% 16 == 0'}")
    return " && ".join(tests) or "1"


def _chooser(kernel, one, variants):
    lines = [f"static CUresult launch_{kernel}_{one.algorithm}(CUstream stream, {one.parameters}) {{"]
    for variant in sorted(variants, key=lambda variant: -len(variant.hints)):
        lines += [f"  if ({_condition(variant)})", f"    return {variant.name}(stream, {', '.join(variant.names)});"]
    return "\n".join(lines + ["  return CUDA_ERROR_INVALID_VALUE;", "}", ""])


def link(headers, prefix=""):
    """(header, source) of the specialisations in the texts of headers; `prefix` stands before the names of what joins them."""
    all_of = [one for text in headers for one in read(text)]
    if not all_of:
        raise LinkerError("no header has a line `// tt-linker:`")
    kernels, first = {one.kernel for one in all_of}, all_of[0]
    if len(kernels) > 1:
        raise LinkerError(f"the headers are of several kernels: {', '.join(sorted(kernels))}")
    by_algorithm = defaultdict(list)
    for one in all_of:
        if one.types != first.types:
            raise LinkerError(f"{one.name} and {first.name} have arguments of different types")
        by_algorithm[one.algorithm].append(one)
    kernel, parameters, names = prefix + first.kernel, first.parameters, ", ".join(first.names)
    header = [INCLUDES]
    header += [f"CUresult {one.name}(CUstream stream, {one.parameters});\nvoid load_{one.name}(void);\nvoid unload_{one.name}(void);" for one in all_of]
    header += [f"CUresult {kernel}(CUstream stream, {parameters}, int algo_id);", f"CUresult {kernel}_default(CUstream stream, {parameters});",
               f"int {kernel}_get_num_algos(void);", f"void load_{kernel}(void);", f"void unload_{kernel}(void);", ""]
    algorithms = list(by_algorithm)
    source = [INCLUDES]
    source += [line for line in header[1:1 + len(all_of)]]
    source += [_chooser(kernel, by_algorithm[algorithm][0], by_algorithm[algorithm]) for algorithm in algorithms]
    source += [f"CUresult {kernel}(CUstream stream, {parameters}, int algo_id) {{", "  switch (algo_id) {"]
    for number, algorithm in enumerate(algorithms):
        source += [f"  case {number}:", f"    return launch_{kernel}_{algorithm}(stream, {names});"]
    source += ["  }", "  return CUDA_ERROR_INVALID_VALUE;", "}", "",
               f"CUresult {kernel}_default(CUstream stream, {parameters}) {{", f"  return {kernel}(stream, {names}, 0);", "}", "",
               f"int {kernel}_get_num_algos(void) {{", f"  return {len(algorithms)};", "}", ""]
    for verb in ("load", "unload"):
        source += [f"void {verb}_{kernel}(void) {{", *(f"  {verb}_{one.name}();" for one in all_of), "}", ""]
    return "\n".join(header), "\n".join(source)


def main():
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("headers", nargs="+", help="of `triton.tools.compile`, all of one kernel")
    parser.add_argument("--out", "-o", type=Path, default=None, help="what the files' names start with; else the kernel's name")
    parser.add_argument("--prefix", default="", help="of the names of the joined functions")
    args = parser.parse_args()
    texts = [Path(path).read_text() for path in args.headers]
    try:
        header, source = link(texts, args.prefix)
    except LinkerError as error:
        raise SystemExit(str(error))
    out = args.out or Path(read(texts[0])[0].kernel)
    out.with_suffix(".h").write_text(header)
    out.with_suffix(".c").write_text(source)


if __name__ == "__main__":
    main()
