#!/usr/bin/env python3
"""Run what the course says: every command in the first lines of each day and exercise, and of its pages.

A day is a kernel folder of examples/track, an exercise one of examples/exercises. Its spec.py begins with `Day N: ...`, `See:`, `Run:` and
`Change:`; each line of `Run:` that is a command of `nereid` is one test here and has to succeed. So is each such line of docs/course, from the root of the
repository; what it writes goes to a folder that is thrown away. Lines marked `(on a GPU)` run where there is one. Rows of `nereid bench` are timed
for a moment only. The last line of output is a JSON object of counts.
"""
import argparse
import ast
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 300  # seconds for one command


def lessons(root=ROOT):
    return sorted(spec.parent for pattern in ("track/day*", "exercises/ex_*") for spec in (root / "examples").glob(f"{pattern}/spec.py"))


def page(folder):
    """The parts of a lesson's first lines, or what is wrong with them."""
    text = ast.get_docstring(ast.parse((folder / "spec.py").read_text())) or ""
    number = int(re.search(r"\d+", folder.name).group())
    found = re.fullmatch(r"(?:Day|Exercise) (\d+): .+\.\n\nSee: +(.+?)\nRun: +(.+?)\nChange: +(.+)", text, re.S)
    if not found or int(found.group(1)) != number:
        raise ValueError(f"{folder.name}/spec.py does not begin with its number and title, `See:`, `Run:` and `Change:`")
    return dict(see=found.group(2), run=[line.strip() for line in found.group(3).splitlines()], change=found.group(4))


def commands_of(lines):
    """(words, whether a GPU is needed) of each line that is a command of `nereid`."""
    return [(shlex.split(re.sub(r"^\(on a GPU\) +", "", line)), line.startswith("(on a GPU)"))
            for line in lines if re.match(r"(\(on a GPU\) +)?nereid ", line)]


def pages(root=ROOT):
    return sorted((root / "docs/course").glob("*.md"))


def page_commands(file):
    """As `commands`, of a page of docs/course: its lines that are indented by four."""
    return commands_of(line.strip() for line in file.read_text().splitlines() if re.match(r" {4}\S", line))


def commands(folder):
    """(words, whether a GPU is needed) of each command of `nereid`."""
    out = commands_of(page(folder)["run"])
    if not any(words[1] == "test" and folder.name in words for words, _ in out):
        raise ValueError(f"{folder.name}/spec.py does not say `nereid test {folder.name}`")
    return out


def run(nereid, where, words):
    """Empty, or what went wrong with a command that is run in the folder `where`."""
    with tempfile.TemporaryDirectory() as scratch:
        return run_beside(nereid, where, words, pathlib.Path(scratch))


def run_beside(nereid, where, words, scratch):
    words = [str(nereid)] + words[1:]
    for option in ("--plot", "--html"):
        if option in words:
            words[words.index(option) + 1] = str(scratch / "written")
    if words[1] == "bench" and "--suite" not in words and "--rows" not in words:
        words += ["--seconds", "0.02"]
    try:
        done = subprocess.run(words, cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"{shlex.join(words)}: still running after {LIMIT} s"
    if done.returncode:
        return f"{shlex.join(words)}: exit code {done.returncode}\n" + "\n".join(done.stdout.splitlines()[-30:])
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", default="build/release/bin", help="where the command is")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="another tree with examples/")
    parser.add_argument("lessons", nargs="*", help="day07, ex_16, ..., or a page as roofline: those alone")
    arguments = parser.parse_args()
    nereid = (ROOT / arguments.bin / "nereid").resolve()
    has_gpu = '"cuda:' in subprocess.run([nereid, "doctor", "--json"], capture_output=True, text=True, timeout=60).stdout
    passed, skipped, failures, jobs, found = 0, 0, [], [], []
    for folder in lessons(arguments.root):
        if arguments.lessons and not any(folder.name.startswith(one) for one in arguments.lessons):
            continue
        found.append((folder.parent, commands, folder))
    for file in pages(arguments.root):
        if not arguments.lessons or file.stem in arguments.lessons:
            found.append((arguments.root, page_commands, file))
    for where, commands_in, lesson in found:
        try:
            for words, needs_gpu in commands_in(lesson):
                if needs_gpu and not has_gpu:
                    skipped += 1
                else:
                    jobs.append((nereid, where, words))
        except ValueError as error:
            failures.append(str(error) if lesson.name in str(error) else f"{lesson.name}: {error}")
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        for problem in pool.map(lambda job: run(*job), jobs):
            if problem:
                failures.append(problem)
            else:
                passed += 1
    for failure in failures:
        print(failure)
    if not jobs:
        failures.append("no lessons")
    print(json.dumps(dict(passed=passed, failed=len(failures), skipped=skipped, failures=failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
