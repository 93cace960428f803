"""Bytes that attention holds as the sequence grows, flash beside standard, and seconds: `./dev bench attention_memory`.
Flash attention keeps no matrix of scores, so its bytes grow as the sequence does, and those of the standard one as its
square: the slopes of log bytes over log length stand in the issue as at most 1.05 and at least 1.95."""
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NEREID = pathlib.Path(sys.argv[1]).resolve()
LENGTHS = (1024, 2048, 4096, 8192)
# Folder, its variant, and whether a slope is good.
ROWS = (("flash_attention", "forward.flash", lambda slope: slope <= 1.05, "<= 1.05"),
        ("attention_standard", "standard", lambda slope: slope >= 1.95, ">= 1.95"))


def rows(kernel, variant, parent):
    """The rows of `nereid bench` for one head of each length, shortest first."""
    folder = parent / kernel
    shutil.copytree(ROOT / "kernels" / kernel, folder)
    with open(folder / "spec.py", "a") as spec:
        spec.write(f'\nbench = [dict(B=1, H=1, M=n, D=64, dtype="f32") for n in {LENGTHS}]\n')
    process = subprocess.run([NEREID, "bench", folder, "--device", "cpu", "--cases", "bench", "--seconds", "0.01", "--untuned",
                              "--variant", variant, "--json"], stdout=subprocess.PIPE, cwd=ROOT, check=True)
    return json.loads(process.stdout)["rows"]


def slopeOf(points):
    """Of the line with the least squares through the logarithms."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    middleX, middleY = (sum(values) / len(logs) for values in zip(*logs))
    return sum((x - middleX) * (y - middleY) for x, y in logs) / sum((x - middleX) ** 2 for x, _ in logs)


def main():
    failed = False
    with tempfile.TemporaryDirectory() as parent:
        for kernel, variant, isGood, goal in ROWS:
            measured = rows(kernel, variant, pathlib.Path(parent))
            assert len(measured) == len(LENGTHS), f"{kernel} has {len(measured)} rows"
            points = [(n, row["peak_bytes"]) for n, row in zip(LENGTHS, measured)]
            slope = slopeOf(points)
            failed |= not isGood(slope)
            print(f"{kernel:20}" + "".join(f"  {n}: {size / 1e6:.1f} MB, {row['seconds'] * 1e3:.0f} ms"
                                           for (n, size), row in zip(points, measured)) + f"  slope {slope:.3f} (goal {goal})", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
