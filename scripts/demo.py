#!/usr/bin/env python3
"""The main job on real sizes: fused against unfused kernels, standard against flash attention, `explain` and `check`.

Prints one JSON line a measured row, then one table. Times are medians; every result is compared with the
formula in f64 first. `--device ref|cpu|cuda:0` chooses the device (default: each one present).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NEREID = ROOT / "build" / "release" / "bin" / "nereid"
# Pairs to set side by side: title, then (label, folder, variant). `demo` of each spec gives the sizes.
COMPARISONS = [
    ("GELU", [("one launch an op", "kernels/gelu", "tanh.unfused"), ("fused", "kernels/gelu", "tanh.fused")]),
    ("softmax", [("one launch a step", "kernels/softmax", "forward.unfused"), ("fused", "kernels/softmax", "forward.single_pass")]),
    ("attention", [("standard", "kernels/attention_standard", "standard"),
                   ("flash", "kernels/flash_attention", "forward.flash")]),
]
EXPLAIN = ["explain", "kernels/softmax/kernel.py:softmax_row", "--signature", "*fp32:16, *fp32:16, i32, i32, i32, 1024"]
CHECK = ["check", "examples/out_of_bounds.py:double", "--arg", "x=randn(1000,f32)", "--arg", "y=zeros(1000,f32)", "--const",
         "BLOCK=256", "--grid", "(4,)"]


def run(words, limit=600):
    done = subprocess.run([NEREID, *words], cwd=ROOT, capture_output=True, timeout=limit, text=True,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def rows_of(folder, variant, device):
    code, out, err = run(["bench", folder, "--cases", "demo", "--variant", variant, "--seconds", "0.2", "--json"] +
                         (["--device", device] if device else []))
    try:
        return json.loads(out)["rows"], err
    except ValueError:
        return None, err or f"exit code {code}"


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device")
    arguments = parser.parse_args()
    started, problems, lines = time.time(), [], []
    for title, variants in COMPARISONS:
        for label, folder, variant in variants:
            chosen, error = rows_of(folder, variant, arguments.device)
            if not chosen:
                problems.append(f"{folder}, {variant}: {error.strip() or 'no such row'}")
            for row in chosen or []:
                print(json.dumps(row))
                if row.get("passed") is False:
                    problems.append(f"{folder}, {variant}: {row.get('failure')}")
                if row.get("passed") is None and not row.get("skipped_reason"):
                    problems.append(f"{folder}, {variant}: not compared with its reference")
                shape = row.get("shape")
                shape = "x".join(map(str, shape)) if isinstance(shape, list) else str(shape)
                lines.append([title, label, shape, str(row.get("device"))] +
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

    print()
    if lines:
        table([["kernel", "variant", "shape", "device", "launches", "bytes moved", "peak bytes", "time", "max error"]] + lines)
    for problem in problems:
        print(f"demo: {problem}", file=sys.stderr)
    print(f"\ndemo: {time.time() - started:.1f} s" + (f", {len(problems)} problems" if problems else ""))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
