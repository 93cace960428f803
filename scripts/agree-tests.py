#!/usr/bin/env python3
"""Runs the tests of a public kernel package with Nereid in Triton's place: their own references, their own tolerances.

    scripts/agree-tests.py flag-gems SOURCE [--bin build/release] [--python PYTHON] [--device cpu] [--only TEXT]
                           [--most 2] [--limit 60] [--results docs/results/NAME.json --version VERSION]

SOURCE is an unpacked checkout of the package (one of PACKAGES below); it is copied, nothing of it is kept. Of each test function
`--most` cases run, always the same. On `cpu` the tests get CPU tensors: questions about a GPU are answered as an H200 would. On
`cuda:0` they run as they are. A kernel counts as agreeing if every test that launched it passed.

PYTHON has torch, pytest and numpy. The last line is JSON: {"passed", "failed", "skipped", "failures"}.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# tests: what holds tests. path: what is imported. edits: (file, old, new) for CPU tensors. pip: small packages that tests import.
# cuda: whether the tests say `cuda`, which is the CPU then. version: the Triton that is pretended.
PACKAGES = {
    "flag-gems": dict(
        tests=["tests/test_*.py"], path="src", words=["--ref", "cpu", "--mode", "quick"], pip=["pyyaml", "sqlalchemy"],
        environment={"GEMS_VENDOR": "nvidia"}, version="3.5.0",  # the newest Triton whose launches its host code knows
        edits=[("src/flag_gems/runtime/backend/_nvidia/__init__.py", 'device_name="cuda"', 'device_name="cpu", triton_extra_name="cuda"')]),
    "flash-linear-attention": dict(tests=["tests/ops/test_*.py", "tests/modules/test_*.py"], path=".", words=[], pip=["einops"], environment={}, edits=[], cuda=True,
                                   version="3.7.1"),  # the newest whose faults its host code refuses
}
# What a test's reason stands for.
CLASSES = [
    (r"TimeoutError", "more time than a test was given"),
    (r"not on the expected device|CPU only|dispatch", "its tests need a GPU's dispatch key"),
    (r"Torch not compiled with CUDA|No CUDA|cuda", "its tests want tensors on a GPU"),
]


def reasonOf(why):
    for pattern, text in CLASSES:
        if re.search(pattern, why):
            return text
    return re.sub(r"\d+\.\d+(e-?\d+)?|\d{3,}", "N", why)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("package", choices=PACKAGES)
    parser.add_argument("source")
    parser.add_argument("--bin", default="build/release", help="the build whose python/ has the package `nereid`")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", help="only test files whose name contains this")
    parser.add_argument("--most", type=int, default=2, help="cases of each test function")
    parser.add_argument("--limit", type=int, default=60, help="seconds for a test")
    parser.add_argument("--results")
    parser.add_argument("--version", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    package = PACKAGES[options.package]
    tests = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        copy = scratch / "package"
        shutil.copytree(options.source, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        if options.device == "cpu":
            for file, old, new in package["edits"]:
                text = (copy / file).read_text()
                (copy / file).write_text(text.replace(old, new))
        missing = [name for name in package["pip"]
                   if subprocess.run([options.python, "-c", f"import {dict(pyyaml='yaml').get(name, name)}"], capture_output=True).returncode]
        if missing:
            subprocess.run([options.python, "-m", "pip", "install", "-q", "--no-deps", "--target", scratch / "site", *missing], check=True)
        nereid = (ROOT / options.bin / "python").resolve()
        path = [nereid, copy / package["path"], scratch / "site", ROOT / "scripts"]
        environment = {**os.environ, **package["environment"], "PYTHONPATH": os.pathsep.join(map(str, path)), "NEREID_BENCHMARK": "quick",
                       "FLAGGEMS_CACHE_DIR": str(scratch / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        if options.device == "cpu":
            environment["NEREID_DEVICE"] = "cpu"
        for file in sorted(file for pattern in package["tests"] for file in copy.glob(pattern)):
            if options.only not in file.name:
                continue
            output = scratch / "outcomes.json"
            output.unlink(missing_ok=True)
            configuration = dict(device=options.device, most=options.most, limit=options.limit, output=str(output), **{key: package[key] for key in ("version", "cuda") if key in package})
            words = [options.python, "-m", "nereid", "-m", "pytest", "-q", "-p", "agree_tests_plugin", "-p", "no:cacheprovider", "--tb=no", *package["words"]]
            done = subprocess.run([*words, str(file.relative_to(copy))], cwd=copy, env={**environment, "NEREID_AGREE_TESTS": json.dumps(configuration)},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if not output.exists():
                tests.append([file.name, "failed", f"the tests did not run: {(done.stdout + done.stderr).strip().splitlines()[-1:]}", []])
            else:
                tests += json.loads(output.read_text())
            print(f"{file.name}: {(done.stdout.strip().splitlines() or [''])[-1]}", flush=True)
            if options.verbose:
                for test, outcome, why, kernels in tests:
                    if outcome == "failed":
                        print(f"  {test} [{', '.join(kernels)}]: {why}", flush=True)
    kernels, failures = {}, collections.Counter()
    for _, outcome, why, names in tests:
        for name in names:
            if outcome == "failed":
                kernels[name] = why
            elif outcome == "passed":
                kernels.setdefault(name, None)
    examples = {}
    for name, why in kernels.items():
        if why is not None:
            failures[reasonOf(why)] += 1
            examples.setdefault(reasonOf(why), name)
    agreed = sum(why is None for why in kernels.values())
    print(f"{len(kernels)} kernels, {agreed} agree in every test")
    for reason, count in failures.most_common():
        print(f"{count:5} {reason}, e.g. {examples[reason]}")
    if options.results:
        row = dict(package=f"{options.package} (its tests, {options.device})", version=options.version, files=len({test.split('::')[0] for test, *_ in tests}),
                   kernels=len(kernels), emitted=len(kernels), ran=len(kernels), agreed=agreed, against="its own tests",
                   misses=[dict(reason=reason, count=count, example=examples[reason]) for reason, count in failures.most_common()])
        pathlib.Path(options.results).write_text(json.dumps(row, indent=1) + "\n")
    counts = collections.Counter(outcome for _, outcome, *_ in tests)
    print(json.dumps(dict(passed=counts["passed"], failed=counts["failed"], skipped=counts["skipped"],
                          failures=[f"{test}: {why}" for test, outcome, why, _ in tests if outcome == "failed"][:40])))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
