#!/usr/bin/env python3
"""Build and run the benchmarks: `./dev bench [NAME...]`.

bench/FrontEnd.cpp is the benchmark `front_end` (Google Benchmark), bench/startup.py the benchmark `startup` (a script that prints
its own rows). Compare A with B on one machine; a time alone says little.
"""
import argparse
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
    parser = argparse.ArgumentParser(prog="./dev bench", description="Build and run the benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {' '.join(known)}; all by default")
    chosen = parser.parse_args().names or known
    unknown = set(chosen) - set(known)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {' '.join(known)}")
    targets = [f"bench_{name}" for name in chosen if name in programs]
    if any(name in scripts for name in chosen):
        targets += ["nereid", "nereid_runtime_library"]
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
