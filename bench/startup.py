"""What the command costs as a process: `./dev bench startup`. Processor time, the least of many runs, and peak memory;
docs/design/front-end-speed.md has the targets."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NEREID = pathlib.Path(sys.argv[1]).resolve()
RUNS = 20


def cost(words, runs=RUNS, program=NEREID):
    """(milliseconds of processor time, milliseconds, megabytes, exit code)"""
    best = (float("inf"),)
    for _ in range(runs):
        started = time.perf_counter()
        process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        best = min(best, ((usage.ru_utime + usage.ru_stime) * 1e3, (time.perf_counter() - started) * 1e3,
                          usage.ru_maxrss / 1024, process.returncode))
    return best


def module(lines):
    text = ""
    while text.count("\n") < lines:
        for path in sorted((ROOT / "kernels").glob("*/kernel.py")):
            text += path.read_text()
    return "".join(text.splitlines(True)[:lines]).rpartition("\n\n\n@")[0] + "\n"


def tenKernels(folder):
    """A program that launches ten kernels from a pack and links only the runtime, and its pack."""
    library = NEREID.parent.parent / "lib"
    program, pack = folder / "ten_kernels", folder / "kernels.pack"
    subprocess.run(["clang++-19", "-std=c++20", "-O2", f"-I{ROOT}/include", ROOT / "bench/start/TenKernels.cpp", "-o", program, f"-L{library}",
                    "-lnereid_runtime", f"-Wl,-rpath,{library}"], check=True)
    signatures = [("add", f"*fp32:16, *fp32:16, *fp32:16, i32, {block}") for block in (128, 256, 512, 1024)]
    signatures += [("softmax", f"*fp32:16, *fp32:16, i32, i32, {block}") for block in (128, 256, 512, 1024)]
    signatures += [("matmul", "*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16, 32, 32, 32, True"),
                   ("attention", "*fp32:16, *fp32:16, *fp32:16, *fp32:16, i32:16, fp32, 32, 32, 32, True")]
    for kernel, signature in signatures:
        subprocess.run([NEREID, "compile", f"examples/cpp/written_twice.py:{kernel}", "--signature", signature, "--emit", "pack", "--add", "-o", pack],
                       check=True, cwd=ROOT)
    return program, pack


def main():
    failed = False

    def row(name, words, wanted, target, unit, runs=RUNS, program=NEREID):
        nonlocal failed
        cpu, wall, megabytes, code = cost(words, runs, program)
        seen = {"ms": wall, "s": wall / 1e3, "MB": megabytes}[unit]
        failed |= code != wanted
        note = "" if code == wanted else f"  EXIT CODE {code}"
        print(f"{name:44} {seen:9.1f} {unit:2}  target {target:5} {unit:2}  (processor {cpu:.0f} ms, {megabytes:.0f} MB){note}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        bad, long = pathlib.Path(folder) / "bad.py", pathlib.Path(folder) / "long.py"
        bad.write_text("x = = 1\n")
        long.write_text(module(2000))
        program, pack = tenKernels(pathlib.Path(folder))
        row("ten kernels from a pack, first launches", [pack], 0, 30, "ms", program=program)
        row("start to first diagnostic", ["list", bad], 1, 30, "ms")
        row("list, 2,000 lines", ["list", long], 0, 150, "MB")
        qkv = [word for name in "qkv" for word in ("--arg", f"{name}_ptr=randn(1x2x512x64,f32)")]
        strides = [word for name in "qkvo" for part, size in zip(("b", "h", "m" if name in "qo" else "n"), (65536, 32768, 64))
                   for word in ("--arg", f"stride_{name}{part}={size}")]
        none = [word for name in ("bias_ptr=None", "stride_bias_b=0", "stride_bias_h=0", "stride_bias_m=0",
                                  "out_ptr=zeros(1x2x512x64,f32)", "lse_ptr=zeros(2x512,f32)", "H=2", "GROUP=1", "M=512", "N=512", "scale=0.125", "p=0.0", "seed=0",
                                  "D=64", "BLOCK_D=64", "BLOCK_M=64", "BLOCK_N=64", "CAUSAL=False", "DROPOUT=False",
                                  "PRECISION='ieee'") for word in ("--arg", name)]
        row("interpreter: attention forward, 1x2x512x64", ["run", "kernels/flash_attention/kernel.py:flash_forward", *qkv, *strides,
            *none, "--grid", "(8, 2)", "--device", "ref"], 0, 10, "s", 1)
        row("interpreter: softmax, 1823x781", ["run", "kernels/softmax/kernel.py:softmax_row", "--arg", "x_ptr=randn(1823x781,f32)",
            "--arg", "y_ptr=zeros(1823x781,f32)", "--arg", "x_stride=781", "--arg", "y_stride=781", "--arg", "N=781", "--arg", "BLOCK=1024",
            "--grid", "(1823,)", "--device", "ref"], 0, 3, "s", 1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
