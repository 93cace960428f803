#!/usr/bin/env python3
"""What the code of our kernels is made of on sm_90a, in the configurations that are in use there.

    scripts/code-facts.py [--bin build/release/bin] [FOLDER...]             compare with test/gpu/code/*.txt
    scripts/code-facts.py --write [FOLDER...]                               write those anew; read the diff

A kernel folder's file lists every kernel that the cases of `bench` launch with tuned.json: spills, what the assembler says costs
speed, the tensor-core and bulk instructions, and each access to global or shared memory: how many of it a thread makes, its place, its
width, and how many sectors or cycles a warp needs of how few. Registers and times are left out: they change with any edit.

Whatever the files say, a kernel of GUARDED spills nothing, multiplies without waits that the assembler adds, and uses `wgmma` where it
uses tensor cores, and bulk copies where it has descriptors; EXCEPTIONS are named.
The last line is JSON: {"passed", "failed", "skipped", "failures", "reasons"}.
"""
import argparse
import concurrent.futures
import difflib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FACTS = ROOT / "test" / "gpu" / "code"
CHIP = "sm_90a"
GUARDED = ("matmul", "matmul_batched", "matmul_grouped", "matmul_ladder", "matmul_scaled", "flash_attention")
# (kernel, what is known) -> why.
EXCEPTIONS = {
    # Two loops of products, the second in a branch of a third; sums that are set at the start do not help.
    ("matmul_stream_k", "warning ptxas info    : (C7515) Potential Performance Loss: "
                        "wgmma.mma_async instructions are serialized due to non wgmma instructions defining accumulator registers of a wgmma between start and end of the pipeline stage in the function 'matmul_stream_k'"): "f32 as tf32 with tiles of 128 x 128 x 64",
    **{(kernel, "mma.sync"): "tiles of 16 or 32 rows, where `wgmma` takes 64"
       for kernel in ("matmul", "matmul_descriptors", "matmul_split_k", "grouped_search", "grouped_walk")},
    # Gradients with soft caps, lengths or a bias beside the products: of what was measured on an H200 these were the fastest.
    # How much is in the files.
    **{(kernel, "spills"): "as tuned; what does not spill was slower" for kernel in ("backward_one_pass", "backward_dk_dv")},
    **{(kernel, "mma.sync"): "as tuned; `wgmma` was not measured" for kernel in ("backward_dk_dv", "backward_dq", "backward_one_pass")},
}
# Settings that tell kernels of one specialization apart, and their defaults.
SETTINGS = {"num_warps": "4", "num_stages": "3", "maxnreg": "0", "num_ctas": "1", "input_precision": "tf32"}


def nameOf(text):
    """`kernel(specialization) setting=value ...`, with settings that are not the default ones."""
    head, *settings = text.split("\n")
    values = dict(one.split("=", 1) for one in settings)
    return " ".join([head.strip()] + [f"{key}={values[key]}" for key, usual in SETTINGS.items() if values.get(key, usual) != usual])


def factsOf(nereid, folder):
    """({kernel: lines}, None), or (None, why); no kernels where there is no assembler."""
    words = [nereid, "test", folder, "--device", CHIP, "--cases", "bench", "--code", "--json"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=ROOT, timeout=1800)
    try:
        rows = json.loads(done.stdout)["rows"]
    except (ValueError, KeyError):
        return None, f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
    kernels = {}
    for row in rows:
        if row.get("passed") is False:
            return None, f"{row['variant']} ({row['shape']}): {row.get('failure')}"
        for text, *lines in row.get("code") or []:
            kernels[nameOf(text)] = lines
    return kernels, None


def textOf(kernels):
    return "".join(f"{name}\n" + "".join(f"    {line}\n" for line in kernels[name]) + "\n" for name in sorted(kernels))


def complaints(folder, kernels):
    """What a guarded kernel must not have."""
    if folder.name not in GUARDED:
        return
    for name, lines in kernels.items():
        kernel = name.split("(")[0]
        for line in lines:
            if line.startswith("warning") or line.startswith("spills") and line != "spills 0":
                if not EXCEPTIONS.get((kernel, line if line.startswith("warning") else "spills")):
                    yield f"{folder.name}: {name}: {line}"
        if "descriptors" in kernel and "bulk tensor" not in lines:
            yield f"{folder.name}: {name}: uses no bulk copies"
        isProduct = any(line.startswith(("mma.sync", "wgmma")) for line in lines)
        if isProduct and not any(line.startswith("wgmma") for line in lines) and not EXCEPTIONS.get((kernel, "mma.sync")):
            yield f"{folder.name}: {name}: uses mma.sync and no wgmma"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", os.cpu_count())))
    parser.add_argument("folders", nargs="*", help="names of kernel folders; by default all")
    options = parser.parse_args()
    nereid = pathlib.Path(options.bin) / "nereid"
    nereid = nereid if nereid.is_absolute() else ROOT / nereid
    folders = [spec.parent for spec in sorted(ROOT.glob("kernels/*/spec.py")) if not options.folders or spec.parent.name in options.folders]
    result = dict(passed=0, failed=0, skipped=0, failures=[], reasons=[])
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for folder, (kernels, why) in zip(folders, pool.map(lambda one: factsOf(nereid, one), folders)):
            if why and "there is no `ptxas`" in why:
                result["skipped"] += 1
                result["reasons"].append("there is no `ptxas`")
                continue
            path = FACTS / f"{folder.name}.txt"
            wrong = [f"{folder.name}: {why}"] if why else list(complaints(folder, kernels))
            if not why and options.write:
                FACTS.mkdir(exist_ok=True)
                path.write_text(textOf(kernels))
            elif not why:
                known = path.read_text() if path.exists() else ""
                before, now = known.splitlines(), textOf(kernels).splitlines()
                diff = list(difflib.unified_diff(before, now, str(path.relative_to(ROOT)), "now", lineterm="", n=2))
                if diff:
                    wrong.append("\n".join(diff[:40] + ["`scripts/code-facts.py --write` takes it in, once it is meant"]))
            result["failed" if wrong else "passed"] += 1
            result["failures"] += wrong
    for failure in result["failures"]:
        print(failure)
    print(json.dumps(result))
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
