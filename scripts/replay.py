#!/usr/bin/env python3
"""Does a refactoring change the code that kernels compile to?

  ./dev replay record    compile the kernels of test/replay/kernels.txt with the current build and keep the texts
  ./dev replay           compile them again and compare with what was kept
  ./dev replay REV       keep the texts of revision REV (built in build/replay/tree), then compare

A kernel that is refused leaves its message as its text, so a change of that shows too.
"""
import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "test" / "replay" / "kernels.txt"
KEPT = ROOT / "build" / "replay" / "kept"
NOW = ROOT / "build" / "replay" / "now"
# What each kernel is compiled to: (target, form).
FORMS = [("cpu", "tile"), ("cpu", "cpu-plan"), ("cpu", "llvm"), ("sm_90a", "gpu"), ("sm_90a", "ptx")]


def kernels():
    """(file:kernel, signature) of each line that is no comment."""
    for line in KERNELS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            kernel, _, signature = line.partition(" ")
            yield kernel, signature.strip()


def build(tree):
    jobs = os.environ.get("JOBS", str(os.cpu_count()))
    if not (tree / "build/release/build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release", "-DNEREID_TESTS=OFF"], cwd=tree, check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", "build/release", "-j", jobs, "nereid"], cwd=tree, check=True,
                   stdout=subprocess.DEVNULL)
    return tree / "build/release/bin/nereid"


def compile_all(nereid, folder):
    """The kernels always come from this tree: only the compiler differs."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    def one(job):
        (kernel, signature), (target, form) = job
        done = subprocess.run([nereid, "compile", kernel, "--signature", signature, "--target", target, "--emit", form,
                               "-o", "-"], cwd=ROOT, capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
        text = done.stdout if done.returncode == 0 else f"exit code {done.returncode}\n".encode() + done.stderr
        name = re.sub(r"[^\w.]+", "-", f"{kernel}-{signature}")[:150]
        (folder / f"{name}.{target}.{form}").write_bytes(text)

    jobs = [(kernel, form) for kernel in kernels() for form in FORMS]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, jobs))
    return len(jobs)


def compare():
    differing = 0
    for name in sorted({path.name for folder in (KEPT, NOW) for path in folder.iterdir()}):
        old, new = ((folder / name).read_text(errors="replace") if (folder / name).exists() else ""
                    for folder in (KEPT, NOW))
        if old != new:
            differing += 1
            lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), f"kept/{name}", f"now/{name}", "", "",
                                              2, ""))
            print("\n".join(lines[:40] + ([f"... {len(lines) - 40} more lines"] if len(lines) > 40 else [])))
    return differing


def tree_of(revision):
    """The folder build/replay/tree with the files of a revision."""
    known = subprocess.run(["git", "rev-parse", "--verify", "-q", f"{revision}^{{commit}}"], cwd=ROOT, capture_output=True,
                           text=True)
    if known.returncode != 0:
        raise SystemExit(f"./dev replay: no revision `{revision}`")
    tree, commit = ROOT / "build" / "replay" / "tree", known.stdout.strip()
    subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
    if (tree / ".git").exists():
        subprocess.run(["git", "checkout", "-q", "--detach", commit], cwd=tree, check=True)
    else:
        subprocess.run(["git", "worktree", "add", "-q", "--force", "--detach", str(tree), commit], cwd=ROOT, check=True)
    return tree


def main():
    parser = argparse.ArgumentParser(prog="./dev replay", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="?", metavar="record|REV")
    parser.add_argument("--bin", type=pathlib.Path, help="where the current `nereid` is (default: build/release, built)")
    arguments = parser.parse_args()
    what = arguments.what
    if not what and not KEPT.exists():
        print("./dev replay: nothing is kept yet: `./dev replay record` before the change, or `./dev replay REV`")
        return 2
    if what and what != "record":
        compile_all(build(tree_of(what)), KEPT)
    nereid = arguments.bin.absolute() / "nereid" if arguments.bin else build(ROOT)
    count = compile_all(nereid, KEPT if what == "record" else NOW)
    if what == "record":
        print(f"replay: kept {count} texts")
        return 0
    differing = compare()
    print(f"replay: {count} texts, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
