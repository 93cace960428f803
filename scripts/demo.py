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
    except ValueError:
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


def main():
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.splitlines()[0])
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

    print()
    if lines:
        table([["kernel", "variant", "shape", "device", "launches", "bytes moved", "peak bytes", "time", "max error"]] + lines)
    for problem in problems:
        print(f"demo: {problem}", file=sys.stderr)
    print(f"\ndemo: {time.time() - started:.1f} s" + (f", {len(problems)} problems" if problems else ""))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
