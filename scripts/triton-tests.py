#!/usr/bin/env python3
"""Runs Triton's own tests, or another project's tests of Triton kernels, through the stand-in.

    scripts/triton-tests.py TESTS... [--wheel FILE | --package FOLDER] [--mark interpreter] [--interpret] [--device cpu]
                            [--every N] [--shuffle] [--known results.jsonl] [--jobs N] [--limit SECONDS] [--time SECONDS]
                            [--out results.jsonl] [--results FILE] [-- pytest arguments]

TESTS are files or folders of a checkout, whose conftest.py is used. Each case has a time limit; a case that crashes or
hangs is noted, and the rest goes on in another process. With --time the run stops there: --shuffle makes what ran until
then a sample of all, and --known takes over an earlier run's results and runs the other cases. Results are written as
they come. The last lines are the failures, those of one reason together and those that look into Triton's own IR apart, and
the sums by file. --results writes the counts and the failed cases by reason, as docs/results/unit-tests keeps them. Exit
code 1 if anything failed.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

PLUGIN = '''
import json, os, random, sys, time, types
import pytest

# Tests of Triton's own IR import this; they are skipped.
own_ir = types.ModuleType("triton._filecheck")
own_ir.filecheck_test = lambda test: (lambda: pytest.skip("inspects Triton's own IR"))
own_ir.run_filecheck = own_ir.run_filecheck_test = own_ir.run_parser = (
    lambda *args, **kwargs: pytest.skip("inspects Triton's own IR"))
sys.modules["triton._filecheck"] = own_ir
generator = types.ModuleType("triton.compiler.code_generator")
generator.CodeGenerator = type("CodeGenerator", (), {})
sys.modules["triton.compiler.code_generator"] = generator

RECORD = open(os.environ["NEREID_TESTS_RECORD"], "a", buffering=1)
SKIP = int(os.environ["NEREID_TESTS_SKIP"])
EVERY, PART, PARTS = (int(os.environ["NEREID_TESTS_" + name]) for name in ("EVERY", "PART", "PARTS"))


def note(**what):
    RECORD.write(json.dumps(what) + "\\n")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    chosen = items[::EVERY]
    if os.environ["NEREID_TESTS_SHUFFLE"] == "1":
        random.Random(0).shuffle(chosen)
    if os.environ["NEREID_TESTS_KNOWN"]:
        with open(os.environ["NEREID_TESTS_KNOWN"]) as file:
            known = set(file.read().split("\\n"))
        chosen = [item for item in chosen if item.nodeid not in known]
    chosen = chosen[PART::PARTS]
    note(total=len(chosen))
    items[:] = chosen[SKIP:]


def pytest_collectreport(report):
    if report.failed:
        note(id=report.nodeid, outcome="failed", seconds=0, reason="collection: " + str(report.longrepr)[-2000:])


def pytest_runtest_logstart(nodeid, location):
    note(start=nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call" or report.outcome != "passed":
        reason = ""
        if report.failed:
            error = call.excinfo
            reason = f"{report.when}: {error.typename}: {str(error.value)[:1500]}" if error else str(report.longrepr)
        elif report.skipped:
            reason = str(report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr)
        outcome = "xfailed" if report.skipped and hasattr(report, "wasxfail") else report.outcome
        note(id=item.nodeid, outcome=outcome, seconds=round(call.duration, 3), reason=reason)


def pytest_runtest_logfinish(nodeid, location):
    note(end=nodeid)
'''


class Part:
    """One slice of the cases, in one process at a time."""

    def __init__(self, number, options, folder):
        self.number, self.options = number, options
        self.record = folder / f"{number}.jsonl"
        self.record.touch()
        self.log = open(folder / f"{number}.log", "ab")
        self.position, self.ended, self.total = 0, 0, None
        self.running, self.since, self.results = None, time.monotonic(), []
        self.restarts = 0
        self.start(folder)

    def start(self, folder=None):
        environment = dict(os.environ, NEREID_TESTS_RECORD=str(self.record), NEREID_TESTS_SKIP=str(self.ended),
                           NEREID_TESTS_EVERY=str(self.options.every), NEREID_TESTS_PART=str(self.number),
                           NEREID_TESTS_PARTS=str(self.options.jobs),
                           NEREID_TESTS_SHUFFLE=str(int(self.options.shuffle)),
                           NEREID_TESTS_KNOWN=str(self.record.parent / "known") if self.options.known else "")
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(self.record.parent), *self.options.package, *filter(None, [environment.get("PYTHONPATH")])])
        environment.setdefault("OMP_NUM_THREADS", "1")
        if self.options.interpret:
            environment["TRITON_INTERPRET"] = "1"
        command = [sys.executable, "-m", "nereid", "-m", "pytest", "-q", "-p", "nereid_record", "-p", "no:cacheprovider", "--tb=no", "--continue-on-collection-errors",
                   *map(os.path.abspath, self.options.tests), *self.options.pytest]
        if self.options.mark:
            command += ["-m", self.options.mark]
        if self.options.device:
            command += [f"--device={self.options.device}"]
        self.running, self.since = None, time.monotonic()
        self.process = subprocess.Popen(command, env=environment, cwd=self.options.root, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)

    def read(self):
        with open(self.record, "rb") as file:
            file.seek(self.position)
            data = file.read()
        data = data[:data.rfind(b"\n") + 1]
        self.position += len(data)
        for line in data.splitlines():
            one = json.loads(line)
            if "total" in one:
                self.total, self.since = one["total"], time.monotonic()
            elif "start" in one:
                self.running, self.since = one["start"], time.monotonic()
            elif "end" in one:
                self.running, self.ended, self.since = None, self.ended + 1, time.monotonic()
            else:
                self.add(one)

    def add(self, one):
        self.results.append(one)
        self.options.file.write(json.dumps(one) + "\n")

    def lost(self, reason):
        """The running case took its process with it."""
        self.results = [one for one in self.results if one["id"] != self.running]
        self.add({"id": self.running, "outcome": "failed", "reason": reason,
                  "seconds": round(time.monotonic() - self.since, 1)})
        self.ended += 1

    def step(self):
        """Whether there is more to do."""
        code = self.process.poll()
        self.read()
        if code is None:
            if time.monotonic() - self.since > (self.options.limit if self.running else 300):
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                self.read()
                if self.running is None:
                    self.add({"id": f"part {self.number}", "outcome": "failed", "seconds": 300,
                              "reason": "hangs outside of a case"})
                    return False
                self.lost(f"no end within {self.options.limit} s")
                self.start()
            return True
        if self.running is not None:
            self.lost(f"the process ended with {code}")
            self.start()
            return True
        if self.total is None or self.ended < self.total:
            self.add({"id": f"part {self.number}", "outcome": "failed", "seconds": 0,
                      "reason": f"pytest ended with {code} after {self.ended} of {self.total} cases"})
        return False


def brief(reason):
    """The part of a reason that cases have in common."""
    reason = re.sub(r"/\S+/", "", reason)
    return re.sub(r"0x[0-9a-f]+|\d+", "N", reason)[:160].replace("\n", " ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--wheel", help="of `pip wheel .`; it is unpacked, not installed")
    parser.add_argument("--package", help="the folder that holds `nereid`, such as build/release/python")
    parser.add_argument("--root", help="where pytest runs; by default the first folder above the tests with a conftest.py")
    parser.add_argument("--mark", default="")
    parser.add_argument("--interpret", action="store_true")
    parser.add_argument("--device", default="")
    parser.add_argument("--every", type=int, default=1, help="takes each Nth case")
    parser.add_argument("--shuffle", action="store_true", help="a fixed random order")
    parser.add_argument("--known", default="", help="results of an earlier run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60, help="seconds that a case may take")
    parser.add_argument("--time", type=float, default=0, help="seconds after which no more cases are started")
    parser.add_argument("--lines", type=int, default=0, help="of the report at most, 0 for all")
    parser.add_argument("--out", default="triton-tests.jsonl")
    parser.add_argument("--results", help="a JSON file of the counts and the failures")
    arguments = sys.argv[1:]
    extra = arguments[arguments.index("--") + 1:] if "--" in arguments else []
    options = parser.parse_args(arguments[:arguments.index("--")] if "--" in arguments else arguments)
    options.pytest = extra
    first = pathlib.Path(options.tests[0]).resolve()
    above = [one for one in first.parents if (one / "conftest.py").exists()]
    options.root = options.root or (above[-1] if above else first.parent)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "nereid_record.py").write_text(PLUGIN)
        # Programs that the tests start import the same `triton`.
        (folder / "sitecustomize.py").write_text("import nereid\nnereid.install()\n")
        options.package = [os.path.abspath(options.package)] if options.package else []
        if options.wheel:
            import zipfile

            zipfile.ZipFile(options.wheel).extractall(folder / "wheel")
            options.package.append(str(folder / "wheel"))
        results = []
        if options.known:
            with open(options.known) as file:
                results = [one for one in map(json.loads, file) if not one["id"].startswith("part ")]
            (folder / "known").write_text("\n".join(one["id"] for one in results))
        options.file = open(options.out, "w", buffering=1)
        started = time.monotonic()
        parts = [Part(number, options, folder) for number in range(options.jobs)]
        left = list(parts)
        while left:
            time.sleep(0.5)
            left = [part for part in left if part.step()]
            if options.time and time.monotonic() - started > options.time:
                for part in left:
                    os.killpg(part.process.pid, signal.SIGKILL)
                    part.process.wait()
                    part.read()
                print(f"stopped after {options.time} s: {sum((part.total or 0) - part.ended for part in left)} cases not run")
                break
        results += [one for part in parts for one in part.results]
        for part in parts:
            part.log.close()
        unfinished = [part for part in parts if any(one["id"].startswith("part ") for one in part.results)]
        for part in unfinished:
            print((folder / f"{part.number}.log").read_text(errors="replace")[-3000:])
    # A case that fails in its body and again in its end counts once.
    merged = {}
    for one in results:
        known = merged.get(one["id"])
        if known is None or known["outcome"] != "failed":
            merged[one["id"]] = one
    options.file.close()
    with open(options.out, "w") as file:
        for one in merged.values():
            file.write(json.dumps(one) + "\n")
    if options.results:
        pathlib.Path(options.results).write_text(json.dumps(failures(merged.values()), indent=1) + "\n")
    report(merged.values(), options.lines)
    return 1 if any(one["outcome"] == "failed" for one in merged.values()) else 0


def failures(results):
    """The counts, and the cases that failed by what their reasons have in common, most common first."""
    counts = collections.Counter(one["outcome"] for one in results)
    by_reason = collections.defaultdict(list)
    for one in results:
        if one["outcome"] == "failed":
            by_reason[brief(one["reason"])].append(one["id"].partition("test/")[2] or one["id"])
    groups = sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0]))
    return {**{name: counts[name] for name in ("passed", "failed", "skipped", "xfailed")},
            "failures": [{"reason": reason, "cases": sorted(cases)} for reason, cases in groups]}


OWN_IR = re.compile(r"\bttgir\b|\bllir\b|\bttg?\.|'nereid\.triton\._C|libtriton|No module named 'triton\._C")


def report(results, lines):
    by_file = collections.defaultdict(collections.Counter)
    groups = {False: collections.defaultdict(list), True: collections.defaultdict(list)}
    total = collections.Counter()
    for one in results:
        by_file[one["id"].partition("::")[0]][one["outcome"]] += 1
        if one["outcome"] == "failed":
            own = bool(OWN_IR.search(one["reason"]))
            groups[own][brief(one["reason"])].append(one["id"])
            total["own"] += own
    said = []
    for own, by_reason in groups.items():
        if own and by_reason:
            said.append("These look into Triton's own IR:")
        for reason, cases in sorted(by_reason.items(), key=lambda item: -len(item[1])):
            said.append(f"{len(cases):5} {reason}\n        {cases[0]}")
    sums = []
    for name, counts in sorted(by_file.items()):
        total += counts
        sums.append(f"{name}: {', '.join(f'{count} {what}' for what, count in sorted(counts.items()))}")
    if lines and 2 * len(said) + len(sums) + 2 > lines:
        kept = max((lines - len(sums) - 3) // 2, 0)
        said[kept:] = [f"      and {len(said) - kept} more reasons"]
    print("\n".join(said + sums))
    ran = total["passed"] + total["failed"]
    print(f"{total['passed']} of {ran} passed ({100 * total['passed'] / max(ran, 1):.1f}%), {total['skipped']} skipped, "
          f"{total['xfailed']} failed as their project expects; {total['own']} of the failures look into Triton's own IR")


if __name__ == "__main__":
    sys.exit(main())
