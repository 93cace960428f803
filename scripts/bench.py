#!/usr/bin/env python3
"""Build and run the benchmarks: `./dev bench [NAME...]`.

bench/Parse.cpp is the benchmark `parse` (Google Benchmark), bench/startup.py the benchmark `startup` (a script that prints
its own rows). Compare A with B on one machine; a time alone says little.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    programs = {re.sub(r"(?<!^)(?=[A-Z])", "_", path.stem).lower(): None for path in (ROOT / "bench").glob("*.cpp")}
    scripts = {path.stem: path for path in (ROOT / "bench").glob("*.py")}
    known = sorted({**programs, **scripts})
    chosen = sys.argv[1:] or known
    if not known:
        print("./dev bench: there is no benchmark yet: bench/ is empty")
        return 3
    unknown = set(chosen) - set(known)
    if unknown:
        print(f"./dev bench: no benchmark {', '.join(sorted(unknown))}; there are {' '.join(known)}")
        return 2
    targets = [f"bench_{name}" for name in chosen if name in programs]
    if any(name in scripts for name in chosen):
        targets.append("nereid")
    jobs = os.environ.get("JOBS", str(os.cpu_count()))
    subprocess.run(["ninja", "-C", "build/release", "-j", jobs, *targets], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    failed = 0
    for name in chosen:
        print(f"--- {name}", flush=True)
        command = ([f"build/release/bin/bench_{name}"] if name in programs else
                   [sys.executable, str(scripts[name]), "build/release/bin/nereid"])
        failed += subprocess.run(command, cwd=ROOT).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
