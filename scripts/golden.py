#!/usr/bin/env python3
"""Rewrite golden files: `./dev golden` all of them, `./dev golden test/errors/NAME.py` one, made if it is not there.

A golden file is NAME.golden beside a kernel file of test/errors (the whole text of its messages). Read the
diff before it is committed.
"""
import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "test" / "harness"), "/usr/lib/llvm-19/build/utils/lit"]
import kernel_tests


def rewrite(path, text):
    old = path.read_text() if path.exists() else None
    if old != text:
        path.write_text(text)
        print(f"{'wrote' if old is None else 'changed'} {path.relative_to(ROOT)}")
    return old != text


def golden_of(source, nereid):
    """The text of one kernel file's messages; refuses to record a crash."""
    text = source.read_text(errors="surrogateescape")
    code, _, stderr = kernel_tests.run_command(kernel_tests.error_command(str(nereid), str(source), text))
    if code not in (0, 1):
        raise SystemExit(f"{source}: exit code {code}; not recorded\n{stderr}")
    return kernel_tests.golden_text(stderr, str(source))


def main():
    parser = argparse.ArgumentParser(prog="./dev golden", description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="kernel files; by default all that have a golden file")
    parser.add_argument("--bin", default=ROOT / "build/release/bin", type=pathlib.Path, help="where `nereid` is")
    arguments = parser.parse_args()
    sources = [pathlib.Path(name).absolute() for name in arguments.files] or [
        path.with_suffix(".py") for path in sorted((ROOT / "test" / "errors").rglob("*.golden"))]
    for source in sources:
        if not source.exists() or source.suffix != ".py":
            parser.error(f"`{source}` is no kernel file")
    nereid = arguments.bin.absolute() / "nereid"
    changed = sum(rewrite(source.with_suffix(".golden"), golden_of(source, nereid)) for source in sources)
    print(f"golden: {len(sources)} files, {changed} changed")


if __name__ == "__main__":
    sys.exit(main())
