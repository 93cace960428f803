#!/usr/bin/env python3
"""clang-tidy: `./dev lint` over the C++ files that differ from main (on main itself, from the commit before), `./dev lint
--all` over all, `./dev lint FILE...` over these.

`--low` takes the rooms without LLVM, those changed last first, and prints one JSON object of counts. What was clean is not
read again until it, a header that it includes or the checks change.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_SECONDS = 300


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.split()


def low_rooms():
    """The rooms that never include MLIR or LLVM, by the table of rooms."""
    spec = importlib.util.spec_from_file_location("check_rooms", ROOT / "scripts" / "check-rooms.py")
    rooms = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rooms)
    return [room for room in rooms.ROOMS if rooms.MLIR_ROOM not in rooms.closure(room)]


def files_of_low_rooms():
    files = [str(path.relative_to(ROOT)) for room in low_rooms() for path in sorted((ROOT / "src" / room).glob("*.cpp"))]
    order = {}
    for name in git("log", "-n", "300", "--name-only", "--format=", "--", "src"):
        order.setdefault(name, len(order))
    return sorted(files, key=lambda name: order.get(name, len(order)))


def changed_files():
    base = (git("merge-base", "HEAD", "main") or git("merge-base", "HEAD", "origin/main") or ["HEAD"])[0]
    if [base] == git("rev-parse", "HEAD"):
        uncommitted = git("diff", "--name-only", "HEAD", "--", "src", "test/unit", "python/binding")
        base = base if uncommitted else "HEAD~1"
    places = ("--", "src/*.cpp", "test/unit/*.cpp", "python/*.cpp", "bench/*.cpp")
    return sorted({*git("diff", "--name-only", "--diff-filter=d", base, *places),
                   *git("ls-files", "-o", "--exclude-standard", *places)})


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


@functools.cache
def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.cache
def included(path):
    """Our own files that a file includes directly; what the build generates is not among them."""
    folders = (path.parent, ROOT / "src", ROOT / "include", ROOT / "test", ROOT)
    found = []
    for name in INCLUDE.findall(path.read_text()):
        found += [file for file in (folder / name for folder in folders) if file.is_file()][:1]
    return [file.resolve() for file in found]


def closure(path):
    """A file and everything of ours that it includes. With the dialect's headers come the tables that they are generated from."""
    seen, left = set(), [path.resolve()]
    while left:
        if (file := left.pop()) not in seen:
            seen.add(file)
            left += included(file)
    if any(file.parent.name == "ir" for file in seen):
        seen |= set((ROOT / "src" / "ir").glob("*.td"))
    return sorted(seen)


class Clean:
    """What was found clean, kept in the build: the hash of a file, of what it includes and of the checks, by the file's name."""

    def __init__(self, build):
        self.path = pathlib.Path(build) / "lint.json"
        try:
            self.known = json.loads(self.path.read_text())
        except (OSError, ValueError):
            self.known = {}

    def key(self, name):
        parts = [digest(ROOT / ".clang-tidy"), *(f"{file.name} {digest(file)}" for file in closure(ROOT / name))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def has(self, name):
        return self.known.get(name) == self.key(name)

    def add(self, name, key):
        self.known[name] = key

    def save(self):
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.known))
        fresh.replace(self.path)


def plugin():
    """The plugin that keeps clang-tidy to our own code, built when there is none or its source is newer."""
    source, made = ROOT / "scripts" / "lint" / "LintScope.cpp", ROOT / ".cache" / "lint" / "LintScope.so"
    if made.exists() and made.stat().st_mtime >= source.stat().st_mtime:
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["clang++-19", "-std=c++17", "-O1", "-fPIC", "-shared", "-fno-rtti", "-isystem", "/usr/lib/llvm-19/include", source, "-o", made],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stderr[-2000:]}\ncannot build {source.name}: are its headers there (libclang-19-dev)? `./dev setup lint` installs them")
    return made


def lint(build, name):
    """What clang-tidy says of a file; empty if it is clean."""
    # Of the processor's time: a busy machine is no fault of a file.
    command = ["prlimit", f"--cpu={FILE_SECONDS}", "clang-tidy-19", "--quiet", f"-load={plugin()}", f"--config-file={ROOT}/.clang-tidy", "-p", build, name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"{name}: no answer within {FILE_SECONDS} s"
    return "" if done.returncode == 0 else f"{name}\n{done.stdout}" + ("" if done.stdout else done.stderr[-3000:])


def lint_all(build, files, show=False):
    """Counts over the files."""
    clean, counts = Clean(build), {"passed": 0, "failed": 0, "failures": []}
    left = []
    for name in files:
        if clean.has(name):
            counts["passed"] += 1
        else:
            left.append((name, clean.key(name)))
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        for (name, key), said in zip(left, pool.map(lambda one: lint(build, one[0]), left)):
            counts["failed" if said else "passed"] += 1
            if said:
                counts["failures"].append(said)
                if show:
                    print(said, flush=True)
            else:
                # A run over all files takes an hour or two: one that is ended goes on where it was.
                clean.add(name, key)
                clean.save()
    return counts


def main():
    parser = argparse.ArgumentParser(prog="./dev lint", description=__doc__.split("\n\n")[0],
                                     epilog=__doc__.split("\n\n")[1])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--all", action="store_true", help="every C++ file")
    parser.add_argument("--low", action="store_true", help="the rooms without LLVM")
    parser.add_argument("--bin", default="build/dev/bin", help="the build whose compile commands serve")
    arguments = parser.parse_args()
    build = (ROOT / arguments.bin).parent
    if arguments.low:
        files = files_of_low_rooms()
    else:
        files = arguments.files or (git("ls-files", "src/*.cpp", "test/unit/*.cpp") if arguments.all else changed_files())
        # Files that use MLIR need the generated headers and the precompiled one.
        subprocess.run(["ninja", "-C", build, "-j", os.environ.get("JOBS", str(os.cpu_count())), "nereid_ir_generated",
                        "nereid_pch"], stdout=subprocess.DEVNULL, check=True)
    plugin()
    counts = lint_all(build, files, show=not arguments.low)
    if arguments.low:
        print(json.dumps(counts))
    else:
        print(f"lint: {counts['passed']} files clean, {counts['failed']} not")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
