#!/usr/bin/env python3
"""Tries every kernel file below a folder: parse, list, emit. By hand; `./dev test corpus` is the part for CI.

    scripts/corpus.py --from DIR [--bin build/release/bin] [--json OUT] [--markdown OUT]
    scripts/corpus.py --from DIR --results docs/results/NAME.json --package NAME --version VERSION

For each .py file: does it parse where CPython's parser takes it, does `list` find the kernels that
CPython's ast finds, and does each kernel emit tile IR, with the signatures of recorded launches where
test/corpus has some for the file, else with one guessed (`corpus_guess.py`): from the package's own
launches, from how the body uses each parameter, then changed where the engine refuses it until it emits or nothing
gets further. Prints a table by package (the first folder below DIR) and each reason of a
miss with its count. What can't be launched is not counted: helpers that a kernel of the file calls or that
return a value, and methods.
"""
import argparse
import ast
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import sys
import zlib

from corpus_guess import Repair, Sites, firstGuesses
from corpus_tools import ROOT, Nereid, astKernels, optionsOf, signatureOf
from corpus_uses import Uses


class Row:
    def __init__(self):
        self.files = self.parsed = self.kernels = self.listed = self.emitted = self.recorded = self.recordedEmitted = 0
        self.holders = 0  # files with kernels
        self.reasons = collections.Counter()
        self.examples = {}
        self.signatures = {}  # "FILE:KERNEL" to the first signature that emits
        self.refused = {}  # "FILE:KERNEL" to [why, the signature that got furthest]

    def miss(self, reason, example):
        self.reasons[reason] += 1
        self.examples.setdefault(reason, example)

    def add(self, other):
        for field, value in vars(other).items():
            if field in ("examples", "signatures", "refused"):
                setattr(self, field, {**value, **getattr(self, field)})
            else:
                setattr(self, field, getattr(self, field) + value)


def recordedLaunches():
    launches = collections.defaultdict(list)
    for facts in (ROOT / "test" / "corpus").glob("*.json"):
        for launch in json.loads(facts.read_text())["launches"]:
            launches[launch["file"], launch["kernel"]].append(launch)
    return launches


def recordedSignatures(relative, name, recorded):
    """[(signature, options)] of all different recorded launches, or None."""
    for (file, kernel), launches in recorded.items():
        if kernel == name and str(relative).endswith(file):
            seen = {}
            for launch in launches:
                try:
                    seen[signatureOf(launch)] = optionsOf(launch)
                except ValueError:
                    continue
            return list(seen.items())
    return None


def tryGuesses(nereid, path, name, node, sites, uses, limit):
    """(None, the first guess that emits, None), or (why the one that got furthest does not, None, that one)."""
    guesses, constexprs = firstGuesses(node, sites, uses)
    if not guesses:
        return "no signature to try", None, None
    span = node.lineno, node.end_lineno
    furthest = None

    def attempt(words):
        nonlocal furthest
        why, line = nereid.refused(path, name, ", ".join(words), [], span)
        if why is None:
            return None
        if furthest is None or line > furthest[0]:
            furthest = line, f"emit (guessed): {why}", words
        return line

    for words in guesses:
        if attempt(words) is None:
            return None, words, None
        if FINAL.search(furthest[1]):
            return furthest[1], None, furthest[2]
    # What gets furthest is repaired, from there on.
    repair = Repair(node, constexprs)
    found = repair.search(attempt, furthest[2], furthest[0], limit)[0]
    return (None, found, None) if found else (furthest[1], None, furthest[2])


def helpersOf(text):
    """Functions that the file itself calls from another one (they are tried through their callers, as are those that kernels of other
    files call and nothing launches), and methods."""
    tree = ast.parse(text)
    helpers = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            helpers |= {call.func.id for call in ast.walk(function)
                        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id != function.name}
        elif isinstance(function, ast.ClassDef):
            # A static kernel is launched; any other method is called.
            helpers |= {f"{function.name}.{method.name}" for method in function.body if isinstance(method, ast.FunctionDef)
                        and not any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in method.decorator_list)}
    return helpers


# What a launch would not have passed: the guess is wrong, whatever the kernel is.
GUESS = re.compile(r"\[(OperandTypes|WrongArgument|StaticAssertFailed|NoAttribute|NotAPointer|TileIndex|IndexError|RuntimeIteration|"
                   r"DescriptorStride|DotOperandType|DotShapeMismatch|UnsupportedDType|LoopCarriedMismatch|ReshapeCount|CannotCast|"
                   r"ShapeNotPowerOfTwo|RangeBound|TypeError|ArangeRange|LiteralOutOfRange|NotConstexpr|ShapeMismatch|UndefinedName|KeyError|"
                   r"SignatureMismatch|BroadcastMismatch|NotConstant)\]$")


# What no other types or constexprs would change.
FINAL = re.compile(r"\[(UnknownValue|ModuleLevelFailure|UnknownDefinition|KernelNotReachable|KernelReturnsValue|UnsupportedOp)\]$|time-out$|crash")


def reasonClass(reason):
    """Reasons as docs/language.md counts them: those of one kind together, without the names in them."""
    if reason.startswith("emit (guessed)") and GUESS.search(reason):
        return "the guessed types or constexprs do not fit the kernel"
    if "[UnknownValue]" in reason or "[ModuleLevelFailure]" in reason:
        return "needs a value from a module or an environment that is not there"
    return re.sub(r"^emit( \(guessed\))?: ", "", reason)


def tryFile(nereid, root, path, recorded, sites, uses, limit):
    row = Row()
    relative = path.relative_to(root)
    try:
        text = path.read_text()
        tree = ast.parse(text)
        kernels = reached(tree, astKernels(text))
    except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError):
        return row
    row.files, row.parsed = 1, 1
    listed, why = nereid.list(path)
    if listed is None:
        row.parsed = 0
    names = {kernel["name"] for kernel in listed or []}
    helpers = helpersOf(text)
    for name, _, _, node in kernels:
        example = f"{relative}:{name}"
        if name in helpers or name in uses.called and name not in sites.calls:
            continue
        row.kernels += 1
        row.holders = 1
        if name not in names:
            row.miss(f"parse or list: {why}" if why else "list: kernel not found", example)
            continue
        row.listed += 1
        attempts = recordedSignatures(relative, name, recorded)
        if attempts is None:
            why, words, furthest = tryGuesses(nereid, path, name, node, sites, uses, limit)
            if words:
                row.signatures[example] = words
            elif furthest:
                row.refused[example] = [why, furthest]
        else:
            why = "no signature to try" if not attempts else None
            for signature, options in attempts:
                refused = nereid.emit(path, name, signature, options)
                row.recorded += 1
                row.recordedEmitted += refused is None
                # One recorded launch that does not emit is a miss.
                if refused and not why:
                    why = f"emit: {refused}"
        if why and "(guessed)" in why and "[KernelReturnsValue]" in why:
            row.kernels -= 1
            row.listed -= 1
            row.refused.pop(example, None)
        elif why:
            row.miss(why, example)
        else:
            row.emitted += 1
    return row


def reached(tree, kernels):
    """The kernels by the names that lead to them: where a plain function takes a kernel's name, by another one that was bound to it before."""
    last, others = {}, {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            last[node.name] = node.lineno
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Name):
            others[last.get(node.value.id)] = node.targets[0].id
    return [(others[line] if line in others and last.get(name, line) != line else name, line, names, node) for name, line, names, node in kernels]


def holdsKernels(path):
    with contextlib.suppress(SyntaxError, UnicodeDecodeError, ValueError, RecursionError):
        return bool(astKernels(path.read_text()))
    return False


def resultOf(package, version, row):
    """The file of docs/results/README.md."""
    misses, examples = collections.Counter(), {}
    for reason, count in row.reasons.items():
        misses[reasonClass(reason)] += count
        examples.setdefault(reasonClass(reason), row.examples[reason])
    return dict(package=package, version=version, files=row.holders, kernels=row.kernels, emitted=row.emitted,
                misses=[dict(reason=reason, count=count, example=examples[reason]) for reason, count in misses.most_common()])


def main():
    parser = argparse.ArgumentParser(prog="./dev corpus", description=__doc__.split("\n\n")[0])
    parser.add_argument("--from", dest="root", required=True, metavar="DIR")
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--json")
    parser.add_argument("--signatures", metavar="OUT", help="where to write what was found for each kernel, for corpus-differ.py")
    parser.add_argument("--refused", metavar="OUT", help="where to write why each other kernel was refused with what guess, for corpus-refused.py")
    parser.add_argument("--repairs", type=int, default=60, help="changes of guesses that do not fit, a kernel (default 60)")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="one file in N of those with kernels, always the same")
    parser.add_argument("--markdown", help="the table as Markdown, for docs/language.md")
    parser.add_argument("--results", help="where to write the counts as docs/results/README.md says")
    parser.add_argument("--package", default="", help="the name of what DIR holds, for --results")
    parser.add_argument("--version", default="", help="and its version")
    options = parser.parse_args()
    root = pathlib.Path(options.root).resolve()
    binary = pathlib.Path(options.bin) / "nereid"
    binary = binary if binary.is_absolute() else ROOT / binary
    if not binary.exists():
        print(f"scripts/corpus.py: there is no {binary}; build it first", file=sys.stderr)
        return 2
    nereid, recorded = Nereid(binary), recordedLaunches()
    files = sorted(path for path in root.rglob("*.py") if path.is_file())
    sites, uses = Sites(), Uses()
    for path in files:
        with contextlib.suppress(SyntaxError, UnicodeDecodeError, ValueError, RecursionError):
            tree = ast.parse(path.read_text())
            sites.read(tree)
            uses.read(tree)
    if options.sample > 1:
        files = [path for path in files if zlib.crc32(str(path.relative_to(root)).encode()) % options.sample == 0 and holdsKernels(path)]
    rows = collections.defaultdict(Row)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (path, one) in enumerate(zip(files, pool.map(lambda p: tryFile(nereid, root, p, recorded, sites, uses, options.repairs), files)), 1):
            package = path.relative_to(root).parts[0]
            rows[package if package != path.name else "."].add(one)
            if sys.stderr.isatty():
                print(f"\r{done} of {len(files)} files", end="", file=sys.stderr)
    lines = ["| package | files | parsed | kernels | listed | emitted | recorded launches emitted |", "|---|--:|--:|--:|--:|--:|--:|"]
    for package, row in sorted(rows.items()):
        lines.append(f"| {package} | {row.files} | {row.parsed} | {row.kernels} | {row.listed} | {row.emitted} | "
                     f"{row.recordedEmitted} of {row.recorded} |")
    reasons = sum((row.reasons for row in rows.values()), collections.Counter())
    lines += ["", "| misses | reason |", "|--:|---|"] + [f"| {count} | {reason.replace('|', chr(92) + '|')} |" for reason, count in reasons.most_common()]
    print("\n".join(lines))
    if options.markdown:
        pathlib.Path(options.markdown).write_text("\n".join(lines) + "\n")
    if options.results:
        total = Row()
        for row in rows.values():
            total.add(row)
        pathlib.Path(options.results).write_text(json.dumps(resultOf(options.package or root.name, options.version, total), indent=1) + "\n")
    if options.signatures:
        found = {name: words for row in rows.values() for name, words in row.signatures.items()}
        pathlib.Path(options.signatures).write_text(json.dumps(found, indent=1))
    if options.refused:
        refused = {name: words for row in rows.values() for name, words in row.refused.items()}
        pathlib.Path(options.refused).write_text(json.dumps(refused, indent=1))
    if options.json:
        plain = {package: {**vars(row), "reasons": dict(row.reasons)} for package, row in rows.items()}
        pathlib.Path(options.json).write_text(json.dumps(plain, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
