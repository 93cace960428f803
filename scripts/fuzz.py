#!/usr/bin/env python3
"""Fuzz one target or all: `./dev fuzz [TARGET] [SECONDS]`. What crashes lands in build/asan/fuzz/found/TARGET; minimise it and
commit it to test/fuzz/corpus/TARGET, where every test run replays it.

The targets `cpu`, `ampere` and `hopper` run random kernels, of which an engine must make what the interpreter makes; their finds land in
build/release/fuzz/found."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# One input may take this long and this much; past it, the input counts as a find.
INPUT_SECONDS = 10
INPUT_MEGABYTES = 2048


# Sources of the tree that a search starts from, beside its corpus.
SEEDS = {"parser": ["kernels", "test/run"], "emit": ["kernels", "test/run", "test/errors"], "spec": ["kernels"]}


def targets():
    """test/fuzz/FuzzParser.cpp is the target `parser`."""
    names = (path.stem for path in sorted((ROOT / "test" / "fuzz").glob("*.cpp")))
    return [re.sub(r"(?<!^)(?=[A-Z])", "_", name.removeprefix("Fuzz")).lower() for name in names]


# Targets that are tests of a unit program: by random kernels, from a fresh seed.
ENGINES = {"cpu": "CpuFuzz.AgreesWithTheInterpreter", "ampere": "GpuFuzz.AgreesOnAmpere", "hopper": "GpuFuzz.AgreesOnHopper"}


def run_engine(name, seconds, slack=300):
    """(exit code or None for a hang, output). `seconds` are of processor time, of two threads."""
    found = ROOT / "build" / "release" / "fuzz" / "found"
    found.mkdir(parents=True, exist_ok=True)
    settings = {"NEREID_FUZZ_SEED": "new", "NEREID_FUZZ_SECONDS": str(seconds), "NEREID_FUZZ_ROUNDS": "4000000000",
                "NEREID_FUZZ_FOUND": str(found)}
    try:
        done = subprocess.run(["build/release/bin/unit_engine", f"--gtest_filter={ENGINES[name]}"], cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=3 * seconds + slack, env={**os.environ, **settings})
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace")


def build(targets):
    cache = ROOT / "build/asan/CMakeCache.txt"
    if not cache.exists() or "NEREID_FUZZ:BOOL=ON" not in cache.read_text():
        check(["cmake", "--preset", "asan"])
    jobs = os.environ.get("JOBS", str(os.cpu_count()))
    check(["ninja", "-C", "build/asan", "-j", jobs, *targets])


def check(command):
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.stdout.buffer.write(done.stdout[-8000:])
        raise SystemExit(f"failed: {' '.join(command)}")


def run(name, seconds, slack=300, seed=0):
    """Replay the corpus, then search for `seconds` (0: only replay). (exit code or None for a hang, output)

    The same seed searches the same inputs in the same order; 0 takes another each time."""
    corpus = ROOT / "test" / "fuzz" / "corpus" / name
    grown = ROOT / "build" / "asan" / "fuzz" / "grown" / name
    found = ROOT / "build" / "asan" / "fuzz" / "found" / name
    for folder in (grown, found):
        folder.mkdir(parents=True, exist_ok=True)
    command = [f"build/asan/bin/fuzz_{name}", f"-artifact_prefix={found}/", f"-timeout={INPUT_SECONDS}",
               f"-rss_limit_mb={INPUT_MEGABYTES}", "-print_final_stats=1", f"-seed={seed}"]
    dictionary = ROOT / "test" / "fuzz" / f"{name}.dict"
    if dictionary.exists():
        command.append(f"-dict={dictionary}")
    # The search writes what it learns to the first folder, never to the tree.
    folders = [str(corpus)] if corpus.is_dir() else []
    if seconds:
        command += [f"-max_total_time={seconds}", str(grown)] + folders + SEEDS.get(name, [])
    else:
        command += ["-runs=0"] + folders
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=seconds + slack)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace")


def main():
    known = targets() + list(ENGINES)
    parser = argparse.ArgumentParser(prog="./dev fuzz", description="Search for inputs that crash, hang or eat memory.")
    parser.add_argument("words", nargs="*", metavar="TARGET|SECONDS",
                        help=f"of {' '.join(known)} (default: all), and how long each (default: 600)")
    words = parser.parse_args().words
    seconds = int(words.pop()) if words and words[-1].isdigit() else 600
    unknown = set(words) - set(known)
    if unknown:
        parser.error(f"no target {', '.join(f'`{name}`' for name in sorted(unknown))}; there are {' '.join(known)}")
    chosen = words or known
    if set(chosen) - set(ENGINES):
        build([f"fuzz_{name}" for name in chosen if name not in ENGINES])
    if set(chosen) & set(ENGINES):
        check(["ninja", "-C", "build/release", "-j", os.environ.get("JOBS", str(os.cpu_count())), "unit_engine"])
    failed = 0
    for name in chosen:
        print(f"{name}: {seconds} s ...", flush=True)
        code, output = run_engine(name, seconds) if name in ENGINES else run(name, seconds)
        done = re.search(r"stat::number_of_executed_units:\s*(\d+)|(?<=: )(\d+) kernels from seed", output)
        if code == 0:
            print(f"{name}: clean, {(done.group(1) or done.group(2)) if done else '?'} inputs")
        else:
            failed += 1
            print("\n".join(output.splitlines()[-60:]))
            print(f"{name}: {'hangs' if code is None else 'found a fault'}; see build/"
                  f"{'release/fuzz/found' if name in ENGINES else f'asan/fuzz/found/{name}'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
