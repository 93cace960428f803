#!/usr/bin/env python3
"""Run every suite, or the named ones, and close with the line `N passed, N failed, N skipped`.

With --device only what runs there: tests of unit programs that need it, lit tests of launches, every kernel folder, the Python package.
Where there is no compiler: `./dev test --pack FILE.tar.xz` here, then unpack it there and `python3 scripts/test.py --built --device cuda:0`.

A suite is a function that gives tasks, each of which gives a Count. What counts as one: a GoogleTest case, a lit test, a unittest
method, a row of `nereid test`, a recorded launch of the corpus, the replay of a fuzz corpus, a fuzz run. The tasks of all suites share the
cores, so that none waits for the last of a suite; JOBS says for how many cores, if not all.
"""
import argparse
import collections
import functools
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
LLVM = pathlib.Path("/usr/lib/llvm-19")
# What --pack takes of LLVM's tools lies here.
PACKED = ROOT / "build" / "packed"
LIT = next((one for one in (LLVM / "build/utils/lit/lit.py", PACKED / "lit/lit.py") if one.exists()), LLVM / "build/utils/lit/lit.py")
# Cores that the tasks share, and what a task with workers of its own takes of them.
SLOTS = int(os.environ.get("JOBS", os.cpu_count()))
HALF = max(1, SLOTS // 2)
# Seconds for one GoogleTest binary, and for one fuzz target beyond its own run.
UNIT_LIMIT = 900
SANITIZED_LIMIT = 120
FUZZ_SLACK = 120


class Count:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.notes = []
        # What was skipped that another machine would run: why, and how often.
        self.lacking = collections.Counter()

    def __iadd__(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.notes += other.notes
        self.lacking += other.lacking
        return self

    def fail(self, note):
        self.failed += 1
        self.notes.append(note)

    def __str__(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def say(text):
    print(text, flush=True)


def run(command, limit, **more):
    """(exit code, output); code None if it ran into the limit."""
    try:
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=limit, cwd=ROOT, **more)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace")
    except OSError as error:
        return 127, str(error)


def tail(text, lines=40):
    return "\n".join(text.splitlines()[-lines:])


def configure(preset, *settings):
    """Configure the build of `preset` when there is none or a setting differs."""
    cache = ROOT / "build" / preset / "CMakeCache.txt"
    known = cache.read_text() if cache.exists() else ""
    wanted = [one for one in settings if not re.search("^%s:[A-Z]+=%s$" % tuple(one.split("=")), known, re.M)]
    if wanted or not (cache.parent / "build.ninja").exists():
        command = ["cmake", "--preset", preset] + [f"-D{one}" for one in settings]
        code, output = run(command, 300)
        if code != 0:
            raise SystemExit(f"{output}\ncannot configure the build `{preset}`")


def build(preset, targets=(), jobs=SLOTS):
    """Build all that can be built; a failure counts as one failed test, and the suites run all the same."""
    started, count = time.time(), Count()
    code, output = run(["ninja", "-C", f"build/{preset}", "-k", "0", "-j", jobs, *targets], 3600)
    if code != 0:
        failures = re.findall(r"^FAILED: .*?(?=^\[\d+/\d+\]|\Z)", output, re.M | re.S)
        count.fail(f"the build `{preset}`:\n" + "\n".join(tail(one, 30) for one in failures[:5]))
    if "no work to do" not in output:
        say(f"{'build:':10}{preset}, {time.time() - started:.0f} s")
    return count


# --- tasks ------------------------------------------------------------------------------------------


class Task:
    """A part of a suite: `call(*given)` makes its Count. The costly begin first; `cost` is in seconds, by a clean run on two cores, and need not be
    exact. `width` is how many cores it keeps busy by itself; `after`, a task without which it can't begin, and is left out if that one failed."""

    def __init__(self, cost, call, *given, width=1, after=None):
        self.cost, self.call, self.given, self.width, self.after = cost, call, given, width, after
        self.isDone, self.seconds, self.count = False, 0.0, None

    def run(self):
        started = time.time()
        try:
            self.count = Count() if self.after and self.after.count.failed else self.call(*self.given)
        except (Exception, SystemExit) as error:  # A fault of a task is one failure of its suite.
            self.count = Count()
            self.count.fail(str(error) if isinstance(error, SystemExit) else traceback.format_exc())
        self.seconds = time.time() - started


def work(suites, finished, slots=None):
    """Runs the tasks of all suites, {name: tasks}, with `slots` cores. `finished(name, count, seconds)` hears of each suite once its last task is done,
    in the order in which they end; its seconds are those of all its tasks."""
    waiting = sorted((task for tasks in suites.values() for task in tasks), key=lambda task: -task.cost)
    slots = slots or SLOTS
    changed, left, free = threading.Condition(), dict(suites), slots

    def width(task):
        return min(task.width, slots)

    def one(task):
        nonlocal free
        task.run()
        with changed:
            task.isDone, free = True, free + width(task)
            changed.notify()

    with changed:
        while left:
            for name in [name for name, tasks in left.items() if all(task.isDone for task in tasks)]:
                total = Count()
                for task in left[name]:
                    total += task.count
                finished(name, total, sum(width(task) * task.seconds for task in left.pop(name)))
            ready = next((task for task in waiting if width(task) <= free and (not task.after or task.after.isDone)), None)
            if ready:
                waiting.remove(ready)
                free -= width(ready)
                threading.Thread(target=one, args=(ready,)).start()
            elif left:
                changed.wait()


# --- suites -----------------------------------------------------------------------------------------


def rooms():
    count = Count()
    code, output = run([sys.executable, "scripts/check-rooms.py"], 60)
    if code == 0:
        count.passed = 1
    else:
        count.fail(output)
    return count


def suite_rooms(arguments):
    return [Task(1, rooms)]


def unittest_file(path, python, **environment):
    """A file of unittest cases, in a process of its own."""
    count = Count()
    code, output = run([python, path, "-v"], 600, env={**os.environ, **environment})
    ran = re.search(r"^Ran (\d+) tests?", output, re.M)
    closing = re.search(r"^(?:OK|FAILED)(?: \((.*)\))?$", output, re.M)
    if not ran or not closing:
        count.fail(f"{path.name}: no result\n{tail(output)}")
        return count
    parts = dict(re.findall(r"(\w+)=(\d+)", closing.group(1) or ""))
    failed = sum(int(parts.get(kind, 0)) for kind in ("failures", "errors"))
    skipped = int(parts.get("skipped", 0))
    count += Count(int(ran.group(1)) - failed - skipped, failed, skipped)
    if failed:
        count.notes.append(f"{path.name}:\n{tail(output, 80)}")
    elif code != 0:
        count.fail(f"{path.name}: exit code {code}\n{tail(output)}")
    return count


# Files of unittest cases that take longer than most.
LONG_FILES = {"test_install": 100, "test_triton_tests": 40, "test_ahead_of_time": 40, "test_headers": 30}


def unittest_folder(folder, python=sys.executable, after=None, **environment):
    one = functools.partial(unittest_file, **environment)
    return [Task(LONG_FILES.get(path.stem, 5), one, path, python, after=after) for path in sorted((ROOT / folder).glob("test_*.py"))]


def suite_scripts(arguments):
    return unittest_folder("test/scripts", NEREID_BUILD=f"build/{arguments.preset}")


def gtest(name, command, limit=UNIT_LIMIT, shard=0, shards=1):
    """One GoogleTest binary, or of its tests those that fall to a shard."""
    count = Count()
    if not (ROOT / command[0]).exists():
        if shard == 0: # one failure, whatever the number of shards
            count.fail(f"{name} was not built")
        return count
    share = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)}
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        code, output = run(command + [f"--gtest_output=json:{report}"], limit, env={**os.environ, **share})
        results = json.loads(report.read_text()) if report.exists() else None
    if not results:
        # It died: what it said it passed has passed, and one test killed it.
        count.passed = len(re.findall(r"^\[       OK \] ", output, re.M))
        how = "ran too long" if code is None else f"died with exit code {code}"
        count.fail(f"{name} {how}\n{tail(output)}")
        return count
    for group in results["testsuites"]:
        for test in group["testsuite"]:
            if test.get("failures"):
                text = "\n".join(one["failure"] for one in test["failures"])
                count.fail(f"{name}: {group['name']}.{test['name']}\n{tail(text)}")
            elif test["result"] in ("SKIPPED", "SUPPRESSED") or test["status"] == "NOTRUN":
                count.skipped += 1
            else:
                count.passed += 1
    if code != 0 and not count.failed:
        count.fail(f"{name}: exit code {code} after its last test\n{tail(output)}")
    return count


def gtests(tests, limit=UNIT_LIMIT, after=None):
    """GoogleTest binaries, given as (name, command), each in as many shards as there are cores."""
    return [Task(100 if name == "unit_engine" else 10, gtest, name, command, limit, shard, SLOTS, after=after)
            for name, command in tests for shard in range(SLOTS)]


# Of the unit programs, what runs on the device that NEREID_TEST_DEVICE names, or on any GPU.
ON_DEVICE = "Cuda.*:LaunchCuda.*:*OnTheDeviceNamed"


def unit_on_device(preset):
    # One after the other: some fill the device's memory, one makes it fault.
    count = Count()
    for program in sorted((ROOT / "build" / preset / "bin").glob("unit_*")):
        count += gtest(program.name, [str(program), f"--gtest_filter={ON_DEVICE}"])
    return count


def nothing_found(what):
    count = Count()
    count.fail(what)
    return count


def suite_unit(arguments):
    if arguments.device:
        return [Task(1, unit_on_device, arguments.preset)]
    code, output = run(["ctest", "--test-dir", f"build/{arguments.preset}", "--show-only=json-v1"], 60)
    listed = output[output.index("{") :] if code == 0 and "{" in output else "{}"
    # A binary that was not built has no command yet.
    tests = [(one["name"], one.get("command", [f"build/{arguments.preset}/bin/{one['name']}"]))
             for one in json.loads(listed).get("tests", [])]
    return gtests(tests) if tests else [Task(1, nothing_found, "no unit tests found")]


# The rooms whose tests run under each sanitizer. They link no LLVM, so every instruction in them is watched.
SANITIZED = {"tsan": ["runtime", "launch"], "asan": ["support", "syntax", "target", "runtime", "launch"]}


def sanitized_targets(preset, arguments):
    """What the chosen suites need of a sanitized build."""
    import fuzz

    rooms = SANITIZED[preset] if "sanitizers" in arguments.chosen else []
    targets = fuzz.targets() if preset == "asan" and "fuzz" in arguments.chosen else []
    return [f"unit_{room}" for room in rooms] + [f"fuzz_{target}" for target in targets]


def sanitized_build(preset, arguments):
    """The task that builds a sanitized preset, one for all suites; its failure counts for the first of them."""
    def make():
        configure(preset, "NEREID_TESTS=ON", *(["NEREID_FUZZ=ON"] if preset == "asan" else []))
        return build(preset, sanitized_targets(preset, arguments), HALF)

    if preset not in arguments.builds:
        arguments.builds[preset] = Task(600 if preset == "asan" else 200, make, width=HALF)
    return arguments.builds[preset]


def suite_sanitizers(arguments):
    """Unit tests of rooms without LLVM: for races where there are threads, for addresses everywhere."""
    tasks = []
    for preset, rooms in SANITIZED.items():
        made = sanitized_build(preset, arguments)
        names = [f"unit_{room}" for room in rooms]
        tests = gtests([(name, [f"build/{preset}/bin/{name}"]) for name in names], SANITIZED_LIMIT, after=made)
        for task in tests:
            task.call = functools.partial(named, f"{preset}: ", gtest)
        tasks += [made, *tests]
    return tasks


def named(prefix, call, *given):
    """The Count of a call, whose notes begin with `prefix`."""
    count = call(*given)
    count.notes = [prefix + note for note in count.notes]
    return count


def lit(arguments, workers):
    count = Count()
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "lit.json"
        command = [sys.executable, LIT, "-q", "-j", workers, "-o", report, "--no-progress-bar",
                   "--order=lexical", "-v", f"-Dbuild=build/{arguments.preset}"]
        only = arguments.filter or (r"run/" if arguments.device else None)
        if only:
            command += ["--filter", only]
        code, output = run(command + ["test"], 3600, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        if not report.exists():
            if "did not discover any tests" in output:
                return count
            count.fail(f"lit gave no report\n{tail(output)}")
            return count
        for test in json.loads(report.read_text())["tests"]:
            if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
                count.passed += 1
            elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
                count.skipped += 1
                for feature in re.findall(r"\b(?:ptxas|libdevice|fake_cuda)\b", test["output"]):
                    count.lacking[f"lit: there is no {feature}"] += 1
            else:
                count.fail(f"{test['name']} ({test['code']})\n{tail(test['output'], 60)}")
        if code != 0 and not count.failed:
            count.fail(f"lit: exit code {code}\n{tail(output)}")
    return count


def suite_lit(arguments):
    workers = SLOTS if arguments.device else HALF
    return [Task(500, lit, arguments, workers, width=workers)]


def suite_kernels(arguments):
    """Every kernel folder: its cases on each device, and its code assembled for GPU targets."""
    from corpus_tools import CHIPS

    folders = sorted(str(spec.parent.relative_to(ROOT)) for spec in ROOT.glob("kernels/*/spec.py"))
    nereid = ROOT / "build" / arguments.preset / "bin" / "nereid"

    def one(folder, devices, *more):
        part = Count()
        code, output = run([nereid, "test", folder, "--json", *more, *(word for one in devices for word in ("--device", one))], 1200)
        try:
            rows = json.loads(output[output.index("{") :])["rows"]
        except (ValueError, KeyError):
            part.fail(f"{folder}: exit code {code}\n{tail(output)}")
            return part
        for row in rows:
            name = " ".join(str(row.get(key)) for key in ("kernel", "variant", "device", "dtype", "shape"))
            if reason := row.get("skipped_reason"):
                part.skipped += 1
                if "ptxas" in reason:
                    part.lacking[f"kernels: {reason}"] += 1
            elif row.get("passed") is True:
                part.passed += 1
            else:
                part.fail(f"{name}: error {row.get('max_error')}, tolerance {row.get('tolerance')}")
        if not rows or code != 0 and not part.failed:
            part.fail(f"{folder}: exit code {code}, {len(rows)} rows\n{tail(output)}")
        return part

    if arguments.device:
        # References are computed on the host, a few folders at a time.
        return [Task(10, one, folder, [arguments.device], width=4) for folder in folders]
    # The tuned target with each case, the others with one of each variant and dtype.
    chips = sorted(CHIPS, key=lambda chip: chip != "sm_90a")

    def tasks(folder):
        cost = LONG_FOLDERS.get(pathlib.Path(folder).name, 10)
        return [Task(cost, one, folder, []), Task(cost, one, folder, chips, "--few")]

    return [task for folder in folders for task in tasks(folder)]


# Kernel folders that take longer than most.
LONG_FOLDERS = {"flash_attention": 100, "matmul": 100, "paged_attention": 60}

# Rows that the model of a GPU refutes, by what is wrong with them.
REFUTED = {
    "paged_attention decode.split_kv_joined": "copies of a sum differ in their last bit, and several warps write theirs to one place",
}

# Folders whose accesses to global memory need no order there: `linear.chunked` writes over its logits through another argument, where warps that
# hold copies of a tile may read what the one that stores has written. Nothing is made of what they read.
UNORDERED = {"cross_entropy"}

# What the model of a GPU runs of folders, where that is not all cases with the configurations of choice: more configurations of
# the code for Hopper, of which they decide what runs beside what; of what takes long, a part.
MODEL_RUNS = {
    "sm_90a": {
        "matmul": [[], ["--all-configs", "--match", "M=70 N=136 K=64 dtype=f16 bias=True activation=silu"]],
        "flash_attention": [[], ["--all-configs", "--match", "B=2 H=2 M=100 D=64 dtype=f16"], ["--all-configs", "--match", "M=70 D=256"]],
    },
    "sm_80": {"flash_attention": [["--match", "dtype=f16"]], "matmul": [["--match", "dtype=f16"]]},
}


def suite_model(arguments):
    """Kernel folders on the model of a GPU: their code for Hopper and for sm_80, executed instruction by instruction."""
    import kernel_tests

    build = ROOT / "build" / arguments.preset
    if not (build / "fake_cuda" / "libcuda.so.1").exists():
        return [Task(1, nothing_found, "the model of a GPU was not built")]

    def one(chip, folder, more):
        part = Count()
        environment = kernel_tests.model_environment(str(build), str(ROOT), chip, ordered=folder.name not in UNORDERED)
        code, output = run([build / "bin" / "nereid", "test", folder, "--json", "--device", "cuda:0", *more], 1200, env=environment)
        try:
            rows = json.loads(output[output.index('{"rows"') :].splitlines()[0])["rows"]
        except (ValueError, KeyError):
            part.fail(f"model of {chip}: {folder.name}: exit code {code}\n{tail(output)}")
            return part
        for row in rows:
            name = f"{row.get('kernel')} {row.get('variant')}"
            if row.get("skipped_reason"):
                part.skipped += 1
            elif name in REFUTED:
                part.skipped += 1
                part.lacking[f"model: {name}: {REFUTED[name]}"] += 1
            elif row.get("passed") is True:
                part.passed += 1
            elif "CUDA_ERROR_INVALID_PTX" in (row.get("failure") or ""):
                part.skipped += 1
                unknown = set(re.findall(f"{kernel_tests.UNKNOWN_TO_MODEL} (.*)", output))
                part.lacking[f"model of {chip}: {name}: the model does not know {', '.join(sorted(unknown))}"] += 1
            else:
                part.fail(f"model of {chip}: {name} ({row.get('shape')}): {row.get('failure')}")
        return part

    folders = sorted(spec.parent for spec in ROOT.glob("kernels/*/spec.py"))
    return [Task(LONG_FOLDERS.get(folder.name, 10), one, chip, folder, more)
            for chip in MODEL_RUNS for folder in folders for more in MODEL_RUNS[chip].get(folder.name, [[]])]


def counted(script, arguments, *words):
    """A script that prints one JSON line of counts last, and keeps JOBS cores busy."""
    count = Count()
    code, output = run([sys.executable, ROOT / "scripts" / script, "--bin", f"build/{arguments.preset}/bin", *words], 1800,
                       env={**os.environ, "JOBS": str(HALF)})
    try:
        result = json.loads(output.strip().splitlines()[-1])
        count += Count(result["passed"], result["failed"], result.get("skipped", 0))
        count.notes += result.get("failures", [])
        for reason in result.get("reasons", []):
            count.lacking[f"{script.removesuffix('.py')}: {reason}"] += 1
    except (ValueError, KeyError, IndexError):
        count.fail(f"{script}: exit code {code}, no counts\n{tail(output)}")
    return count


def suite_faults(arguments):
    """Faults planted in our kernels, which `check` must find, and clean launches."""
    return [Task(5, counted, "corpus-faults.py", arguments, width=HALF)]


def suite_course(arguments):
    """Every command that a day or an exercise of the course tells a learner to run."""
    return [Task(100, counted, "course.py", arguments, width=HALF)]


def suite_corpus(arguments):
    """Recorded launches of public kernels: all are compiled and assembled, one in four runs here, all by `./dev corpus`."""
    return [Task(400, counted, "corpus-ci.py", arguments, "--sample", "4", width=HALF)]


def suite_code(arguments):
    """What the code of the kernels is made of on sm_90a, with tuned.json, against the checked-in lists."""
    return [Task(100, counted, "code-facts.py", arguments, width=HALF)]


def suite_python(arguments):
    """The Python package of the build, with NumPy from the index and whatever else this machine's Python has."""
    folder = ROOT / ".cache" / "python-tests"
    python = os.environ.get("NEREID_TEST_PYTHON", sys.executable if arguments.built else folder / "bin" / "python")

    def install():
        count = Count()
        code, output = run([sys.executable, "-m", "venv", "--system-site-packages", folder], 120)
        if code == 0:
            code, output = run([python, "-m", "pip", "install", "-q", "--retries", "1", "--disable-pip-version-check", "numpy"], 600)
        if code != 0:
            shutil.rmtree(folder, ignore_errors=True)
            count.fail(f"cannot install NumPy for the tests of the package\n{tail(output)}")
        return count

    package = ROOT / "build" / arguments.preset / "python"
    if not (package / "nereid" / "_C.abi3.so").exists():
        say("the Python package was not built: there are no Python headers")
        return [Task(1, Count, 0, 0, 1)]
    made = None if pathlib.Path(python).exists() else Task(100, install)
    return ([made] if made else []) + unittest_folder("test/python", python, made, PYTHONPATH=str(package))


def suite_lint(arguments):
    """clang-tidy over the rooms without LLVM; `./dev lint --all` reads the others too."""
    def one():
        configure("dev", "NEREID_TESTS=ON") # where each file has a command of its own
        return counted("lint.py", arguments, "--low", "--bin", "build/dev/bin")

    return [Task(150, one, width=HALF)]


def suite_fuzz(arguments):
    """Each target over its corpus (what was found before must stay found), then a few seconds of search.

    The search has a fixed seed, so that a change fails by what it does and not by chance; `./dev fuzz` searches anew."""
    import fuzz

    def one(target):
        part = Count()
        for seconds, name in ((0, "corpus"), (arguments.fuzz_seconds, "search")):
            code, output = fuzz.run(target, seconds, FUZZ_SLACK, seed=1)
            if code == 0:
                part.passed += 1
            else:
                part.fail(f"fuzz {target}, {name}: {'hangs' if code is None else f'exit code {code}'}\n{tail(output)}")
        return part

    made = sanitized_build("asan", arguments)
    # Where the sanitizers run as well, the build is theirs.
    return ([] if "sanitizers" in arguments.chosen else [made]) + [Task(15, one, target, after=made) for target in fuzz.targets()]


SUITES = {
    "rooms": suite_rooms,
    "scripts": suite_scripts,
    "unit": suite_unit,
    "sanitizers": suite_sanitizers,
    "lit": suite_lit,
    "kernels": suite_kernels,
    "model": suite_model,
    "course": suite_course,
    "faults": suite_faults,
    "corpus": suite_corpus,
    "code": suite_code,
    "python": suite_python,
    "lint": suite_lint,
    "fuzz": suite_fuzz,
}
NEED_BUILD = {"unit", "lit", "kernels", "model", "course", "faults", "corpus", "code", "python"}
DEVICE_SUITES = ["unit", "lit", "kernels", "python"]


def package_files(folder):
    """The package's files; those in Python are links into the tree, a whole folder among them."""
    for top, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [one for one in folders if one != "__pycache__"]
        yield from (pathlib.Path(top) / name for name in names)


def pack(path, preset):
    """The build, what its tests read, and the tools of LLVM that lit tests call, as one archive."""
    build = pathlib.Path("build") / preset
    with tempfile.TemporaryDirectory() as scratch:
        top = pathlib.Path(scratch)
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "kernels", "test", "scripts"],
                                cwd=ROOT, check=True, stdout=subprocess.PIPE)
        names = [name for name in listed.stdout.decode().split("\0") if name]
        made = [ROOT / build / "CMakeCache.txt", ROOT / build / "bin" / "nereid", *(ROOT / build / "bin").glob("unit_*"),
                *package_files(ROOT / build / "python" / "nereid")]
        names += sorted(str(one.relative_to(ROOT)) for one in made if one.is_file())
        for name in names:
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, top / name)
            if name.startswith(f"{build}/bin/") or name.endswith(".so"):
                subprocess.run(["strip", "-s", top / name], check=True)
        packed = top / PACKED.relative_to(ROOT)
        shutil.copytree(LIT.parent, packed / "lit", ignore=shutil.ignore_patterns("__pycache__", "tests"))
        (packed / "bin").mkdir()
        for tool in ("FileCheck", "not", "count"):
            shutil.copy2(LLVM / "bin" / tool, packed / "bin" / tool)
        # Programs look for their inputs where they were built.
        (packed / "built-at").write_text(str(ROOT))
        # One dictionary for all programs: each has the same libraries in it.
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 300 << 20}]
        with lzma.open(path, "wb", filters=filters) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
            for child in sorted(top.iterdir()):
                archive.add(child, child.name)
    say(f"{path}: {os.path.getsize(path) >> 20} MiB. Unpack it on the other machine, and run there:\n"
        "    python3 scripts/test.py --built --device cuda:0")


def take_as_built(preset):
    """Checks that there is a build to take, and makes its programs find their inputs."""
    if not (ROOT / "build" / preset / "bin" / "nereid").exists():
        raise SystemExit(f"--built: there is no build/{preset}/bin/nereid; `./dev test` builds it, --pack brings it")
    record = PACKED / "built-at"
    place = pathlib.Path(record.read_text()) if record.exists() else ROOT
    if place.exists() and place.resolve() == ROOT.resolve():
        return
    if place.exists() or place.is_symlink():
        raise SystemExit(f"--built: the programs look for their inputs in {place}, where something else is; move it away")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(ROOT)
    except OSError as error:
        raise SystemExit(f"--built: the programs look for their inputs in {place}: {error.strerror}; make it a link to {ROOT}") from None


def main():
    parser = argparse.ArgumentParser(prog="./dev test", description=__doc__.split("\n\n")[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {' '.join(SUITES)}; by default all")
    parser.add_argument("--preset", default="release", help="the build to test (default: the one that ships)")
    parser.add_argument("--filter", help="regular expression for lit tests")
    parser.add_argument("--fuzz-seconds", type=int, default=10)
    parser.add_argument("--ci", action="store_true", help="what is missing here, such as ptxas, is a failure and not a reason to skip tests")
    parser.add_argument("--device", help="only what runs on this device, such as cuda:0")
    parser.add_argument("--built", action="store_true", help="take the build as it is; `python3 scripts/test.py --built` installs nothing either")
    parser.add_argument("--pack", metavar="FILE.tar.xz", help="test nothing: write an archive for --built --device on another machine")
    arguments = parser.parse_args()
    if arguments.device and not re.fullmatch(r"ref|cpu|cuda:\d+", arguments.device):
        parser.error(f"no device `{arguments.device}`; there are ref, cpu, cuda:0, cuda:1 ...")
    unknown = set(arguments.suites) - set(SUITES)
    if unknown:
        parser.error(f"no suite {', '.join(sorted(unknown))}; there are {' '.join(SUITES)}")
    wanted = arguments.suites or (DEVICE_SUITES if arguments.device else list(SUITES))
    if arguments.device and (others := set(wanted) - set(DEVICE_SUITES)):
        parser.error(f"{', '.join(sorted(others))} run on no device; those that do: {' '.join(DEVICE_SUITES)}")
    chosen = arguments.chosen = [name for name in SUITES if name in wanted]
    arguments.builds = {}

    # What the suites start finds ptxas too where `./dev setup` put it.
    import gpu_tools

    ptxas, libdevice = gpu_tools.find_ptxas(str(ROOT)), gpu_tools.find_libdevice(str(ROOT))
    if ptxas:
        os.environ["PATH"] += os.pathsep + os.path.dirname(ptxas)
    if libdevice:
        os.environ["NEREID_LIBDEVICE"] = libdevice

    total = Count()
    if arguments.built:
        take_as_built(arguments.preset)
    if arguments.device:
        os.environ["NEREID_TEST_DEVICE"] = arguments.device
    if not arguments.built and (arguments.pack or NEED_BUILD & set(chosen)):
        configure(arguments.preset, "NEREID_TESTS=ON")
        total += build(arguments.preset)
        for note in total.notes:
            say(f"FAILED {note}\n")
    if arguments.pack:
        if total.failed:
            return 1
        pack(arguments.pack, arguments.preset)
        return 0
    # Nothing that an earlier run left in the user's cache takes part.
    cache = tempfile.TemporaryDirectory(prefix="nereid-test-cache-")
    os.environ["NEREID_CACHE_DIR"] = cache.name

    def finished(name, count, seconds):
        nonlocal total
        for note in count.notes:
            say(f"FAILED {note}\n")
        say(f"{name + ':':10}{count} ({seconds:.1f} s)")
        total += count

    started = time.time()
    suites = {name: SUITES[name](arguments) for name in chosen}
    # What shares a device runs one suite after the other.
    for together in [{name: tasks} for name, tasks in suites.items()] if arguments.device else [suites]:
        work(together, finished)
    cache.cleanup()
    say(f"\n{time.time() - started:.0f} s of {SLOTS} cores")
    if arguments.ci:
        for name, found in (("ptxas", ptxas), ("libdevice", libdevice)):
            if not found:
                total.fail(f"there is no {name}")
                say(f"FAILED there is no {name}, which `./dev setup test` fetches from the Python index")
    for reason, times in total.lacking.items():
        say(f"skipped, {times}: {reason}")
    say(str(total))
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "test" / "harness"), str(LIT.parent)]
    sys.exit(main())
