#!/usr/bin/env python3
"""The main job on real sizes: fused against unfused kernels, standard against flash attention, `explain`, `check` and `tune`,
and tokens of a transformer in C++.

Prints one JSON line a measured row, then one table. Times are medians; every result is compared with the
formula in f64 first. `--device ref|cpu|cuda:0` chooses the device (default: each one present).
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NEREID = ROOT / "build" / "release" / "bin" / "nereid"
# Variants to set side by side: (kernel, variant) as the rows name them, title, label. `demo` of each spec gives the sizes.
COMPARISONS = [
    (("gelu", "tanh.unfused"), "GELU", "one launch an op"),
    (("gelu", "tanh.fused"), "GELU", "fused"),
    (("softmax", "forward.unfused"), "softmax", "one launch a step"),
    (("softmax", "forward.single_pass"), "softmax", "fused"),
    (("attention_standard", "standard"), "attention", "standard"),
    (("flash_attention", "forward.flash"), "attention", "flash"),
]
EXPLAIN = ["explain", "kernels/softmax/kernel.py:softmax_row", "--signature", "*fp32:16, *fp32:16, i32, i32, i32, 1024"]
CHECK = ["check", "examples/out_of_bounds.py:double", "--arg", "x=randn(1000,f32)", "--arg", "y=zeros(1000,f32)", "--const",
         "BLOCK=256", "--grid", "(4,)"]
TUNE = ["tune", "examples/autotuned.py:scale_rows", "--arg", "x=randn(2048x1000,f32)", "--arg", "out=empty(2048x1000,f32)", "--arg",
        "columns=1000", "--grid", "(2048,)", "--dry-run", "--json"]
TOKENS = 16


def run(words, limit=600):
    done = subprocess.run([NEREID, *words], cwd=ROOT, capture_output=True, timeout=limit, text=True,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def measured(device):
    """The rows of all comparisons, by (kernel, variant), and what went wrong."""
    folders = dict.fromkeys(f"kernels/{kernel}" for (kernel, _), _, _ in COMPARISONS)
    words = ["bench", *folders, "--cases", "demo", "--seconds", "0.2", "--json"]
    for (_, variant), _, _ in COMPARISONS:
        words += ["--variant", variant]
    code, out, err = run(words + (["--device", device] if device else []))
    rows = {}
    try:
        for row in json.loads(out)["rows"]:
            rows.setdefault((row["kernel"], row["variant"]), []).append(row)
    except (ValueError, KeyError):
        return rows, err.strip() or f"exit code {code}"
    return rows, ""


def human(number, unit):
    for prefix in ("", "K", "M", "G", "T"):
        if abs(number) < 1000 or prefix == "T":
            return f"{number:.3g} {prefix}{unit}"
        number /= 1000


def cell(row, key):
    value = row.get(key)
    if value is None:
        return "-"
    if key == "seconds":
        return f"{value * 1e3:.3g} ms"
    if key in ("bytes_moved", "peak_bytes"):
        return human(value, "B")
    if key == "max_error":
        return f"{value:.1e}"
    return str(value)


def table(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for number, line in enumerate(lines):
        print("  ".join(text.ljust(width) if i < 2 else text.rjust(width) for i, (text, width) in
                        enumerate(zip(line, widths))).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


def tuned(device):
    """Four configurations, the fastest first; and what went wrong."""
    code, out, err = run(TUNE + ["--device", device])
    try:
        trials = json.loads(out)["rows"][0]["configs"]
    except (ValueError, KeyError, IndexError):
        return err.strip() or f"exit code {code}"
    for trial in trials:
        spread = "" if trial["spread"] is None else f"{trial['spread'] * 100:6.0f}% spread"
        print(f"  {trial['config']:44}" + (trial["failure"] or f"{trial['seconds'] * 1e6:9.1f} us{spread}"))
    good = [trial for trial in trials if not trial["failure"]]
    if code or len(good) != 4:
        return f"{len(good)} of 4 configurations can be taken"
    print(f"  the worst takes {good[-1]['seconds'] / good[0]['seconds']:.2f} times the best")
    return ""


def transformer():
    """The program of examples/transformer, built again where something of it is newer; or what went wrong."""
    program = NEREID.parent.parent / "demo" / "transformer"
    sources = sorted((ROOT / "examples" / "transformer").glob("*.cpp"))
    library = NEREID.parent.parent / "lib"
    parts = [*(ROOT / "examples" / "transformer").iterdir(), *(ROOT / "include").rglob("*.*"), *library.glob("libnereid.so*")]
    if program.exists() and all(part.stat().st_mtime < program.stat().st_mtime for part in parts):
        return program, ""
    program.parent.mkdir(exist_ok=True)
    definitions = [f'-DEXAMPLE_KERNELS="{ROOT}/examples/transformer/transformer.py"']
    built = subprocess.run(["clang++-19", "-std=c++20", "-O2", f"-I{ROOT}/include", *definitions, *sources, "-o", program, f"-L{library}",
                            "-lnereid", f"-Wl,-rpath,{library}"], capture_output=True, text=True, timeout=600)
    return program, f"the example does not build: {built.stderr.strip()}" if built.returncode else ""


def generated(device):
    """The transformer of examples/transformer, twice on one kernel cache; what went wrong."""
    program, error = transformer()
    if error:
        return error
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NEREID_CACHE_DIR": str(pathlib.Path(folder) / "cache")}
        for turn in ("first", "second"):
            started = time.time()
            done = subprocess.run([program, "--device", device, "--tokens", str(TOKENS), "--batches", "4"], capture_output=True, text=True,
                                  env=environment, timeout=600)
            if done.returncode:
                return f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()}"
            if turn == "first":
                print(done.stdout.rstrip())
            counts = re.search(r"(\d+) kernels compiled, (\d+) read from the kernel cache", done.stdout)
            print(f"  {turn} start: {time.time() - started:.1f} s, {counts.group(0)}")
            if (turn == "second") != (counts.group(1) == "0"):
                return "the second start did not take its kernels from the cache"
    return ""


def main():
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.split("\n\n")[0])
    parser.add_argument("--device")
    arguments = parser.parse_args()
    started, problems, lines = time.time(), [], []
    rows, error = measured(arguments.device)
    if error:
        problems.append(error)
    for key, title, label in COMPARISONS:
        name = ", ".join(key)
        if not error and key not in rows:
            problems.append(f"{name}: no such row")
        for row in rows.get(key, []):
            print(json.dumps(row))
            if row["passed"] is False:
                problems.append(f"{name}: {row.get('failure')}")
            if row["passed"] is None and not row.get("skipped_reason"):
                problems.append(f"{name}: not compared with its reference")
            lines.append([title, label, row["shape"], row["device"]] +
                         [cell(row, key) for key in ("launches", "bytes_moved", "peak_bytes", "seconds", "max_error")])

    print("\nexplain the fused softmax: what each line moves and computes")
    code, out, err = run(EXPLAIN)
    if code == 0:
        print("\n".join(out.splitlines()[:24]))
    else:
        problems.append(f"explain: {err.strip() or code}")

    print("\ncheck examples/out_of_bounds.py, whose load lacks a mask:")
    code, out, err = run(CHECK)
    line = next((n for n, text in enumerate((ROOT / "examples/out_of_bounds.py").read_text().splitlines(), 1)
                 if "tl.load(x + i)" in text), None)
    print((err or out).strip())
    if code != 1 or f"out_of_bounds.py:{line}:" not in err + out:
        problems.append(f"check: the planted access on line {line} was not reported (exit code {code})")

    for device in [arguments.device] if arguments.device else dict.fromkeys(line[3] for line in lines):
        if device == "ref":
            continue
        print(f"\ntune examples/autotuned.py on {device}:")
        if error := tuned(device):
            problems.append(f"tune on {device}: {error}")
        print(f"\nexamples/transformer on {device}, {TOKENS} tokens:")
        if error := generated(device):
            problems.append(f"transformer on {device}: {error}")

    print()
    if lines:
        table([["kernel", "variant", "shape", "device", "launches", "bytes moved", "peak bytes", "time", "max error"]] + lines)
    for problem in problems:
        print(f"demo: {problem}", file=sys.stderr)
    print(f"\ndemo: {time.time() - started:.1f} s" + (f", {len(problems)} problems" if problems else ""))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
