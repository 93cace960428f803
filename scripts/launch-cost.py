#!/usr/bin/env python3
"""Host time of a launch from Python, and of the first one, with Nereid's package and with Triton, on the current device.

    scripts/launch-cost.py [--package FOLDER] [--peer PYTHON]

The time of an import and of a first launch without torch. Kernels of 5 and of 19 arguments; microseconds a launch, the
least of several rounds. On a GPU beside `cuLaunchKernelEx` in C of empty kernels with as many arguments. PYTHON is an
interpreter with torch and triton; Triton needs a GPU.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = '''
import json, sys, time
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    torch.zeros(1, device=device)
start = time.perf_counter()
import triton
import triton.language as tl
imported = time.perf_counter() - start


@triton.jit
def five(x, y, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, tl.load(x + o, mask=o < n) + tl.load(y + o, mask=o < n), mask=o < n)


@triton.jit
def nineteen(a, b, c, d, e, f, n, s0, s1, s2, s3, s4, s5, s6, s7, x, y, z, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    v = tl.load(a + o * s0, mask=o < n) + tl.load(b + o * s1, mask=o < n) + s2 + s3 + s4 + s5 + s6 + s7 + x + y + z
    tl.store(f + o, v + tl.load(c + o, mask=o < n) + tl.load(d + o, mask=o < n) + tl.load(e + o, mask=o < n), mask=o < n)


def empty(size=64):
    return torch.zeros(size, device=device)


def wait():
    if device == "cuda":
        torch.cuda.synchronize()


def measure(call, count=2000):
    call()
    wait()
    best = 1.0
    for _ in range(9):
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
        wait()
    return round(best * 1e6, 2)


x, y, out = empty(), empty(), empty()
start = time.perf_counter()
five[(1, )](x, y, out, 1, BLOCK=16)
wait()
first = time.perf_counter() - start
tuned = triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])(five)
many = [empty() for _ in range(6)]
numbers = [3, 5, 7, 9, 11, 13, 15, 17]
found = {
    "device": device, "triton": triton.__name__, "import ms": round(imported * 1e3, 1), "first launch ms": round(first * 1e3, 1),
    "5 arguments us": measure(lambda: five[(1, )](x, y, out, 1, BLOCK=16)),
    "5 arguments, tuned us": measure(lambda: tuned[(1, )](x, y, out, 1)),
    "19 arguments us": measure(lambda: nineteen[(1, )](*many, 1, *numbers, 0.5, 1.5, 2.5, BLOCK=16)),
}
if device == "cuda":
    found["torch add us"] = measure(lambda: torch.add(x, y, out=out))
print(json.dumps(found))
'''

# Without torch, in a process of its own: the first launch compiles, or finds the code on disk.
ALONE = '''
import json, sys, time
import numpy as np
start = time.perf_counter()
import nereid.triton as triton
import nereid.triton.language as tl
imported = time.perf_counter() - start


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, tl.load(x + o, mask=o < n) + tl.load(y + o, mask=o < n), mask=o < n)


x, y, out = np.ones(1000, "f4"), np.ones(1000, "f4"), np.empty(1000, "f4")
start = time.perf_counter()
add[(8, )](x, y, out, 1000, BLOCK=128)
first = time.perf_counter() - start
assert (out == 2).all() and "torch" not in sys.modules
print(json.dumps({"import ms": round(imported * 1e3, 1), "first launch ms": round(first * 1e3, 1)}))
'''

# The loop is in C, so that nothing of Python is measured.
RAW_C = r'''
#include <cuda.h>
#include <stdio.h>
#include <time.h>
static const char source[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
  ".visible .entry five(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 d) { ret; }\n"
  ".visible .entry nineteen(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 e, .param .u64 f,"
  ".param .u32 n, .param .u32 s0, .param .u32 s1, .param .u32 s2, .param .u32 s3, .param .u32 s4, .param .u32 s5,"
  ".param .u32 s6, .param .u32 s7, .param .f32 x, .param .f32 y, .param .f32 z) { ret; }\n";
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static double measure(CUfunction f) {
  unsigned long long pointers[18] = {0}; void *arguments[18];
  for (int i = 0; i < 18; ++i) arguments[i] = &pointers[i];
  CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 128, .blockDimY = 1, .blockDimZ = 1};
  double best = 1;
  for (int r = 0; r < 9; ++r) {
    double start = now();
    for (int i = 0; i < 2000; ++i) cuLaunchKernelEx(&config, f, arguments, 0);
    double each = (now() - start) / 2000;
    if (each < best) best = each;
    cuCtxSynchronize();
  }
  return best * 1e6;
}
int main(void) {
  CUdevice device; CUcontext context; CUmodule module; CUfunction five, nineteen;
  if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context) ||
      cuModuleLoadData(&module, source) || cuModuleGetFunction(&five, module, "five") ||
      cuModuleGetFunction(&nineteen, module, "nineteen")) return 1;
  printf("{\"5 arguments us\": %.2f, \"19 arguments us\": %.2f}\n", measure(five), measure(nineteen));
}
'''


def run(command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, **environment})
    if done.returncode:
        return {"failed": (done.stderr or done.stdout).strip().splitlines()[-12:]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", help="the folder that holds `nereid`; by default it is installed")
    parser.add_argument("--peer", help="an interpreter with torch and triton; by default this one")
    parser.add_argument("--cuda", default="/usr/local/cuda")
    options = parser.parse_args()
    python = options.peer or sys.executable
    path = {"PYTHONPATH": os.path.abspath(options.package)} if options.package else {}
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program.py"
        program.write_text(PROGRAM)
        for name in ("first run", "second run"):
            print(f"nereid, {name}:", run([python, "-m", "nereid", str(program)], NEREID_CACHE_DIR=f"{folder}/cache", **path))
        alone = pathlib.Path(folder) / "alone.py"
        alone.write_text(ALONE)
        for name in ("first run", "second run"):
            print(f"nereid without torch, {name}:", run([python, str(alone)], NEREID_CACHE_DIR=f"{folder}/alone", **path))
        for name in ("first run", "second run"):
            print(f"triton, {name}:", run([python, str(program)], TRITON_CACHE_DIR=f"{folder}/triton"))
        source = pathlib.Path(folder) / "raw.c"
        source.write_text(RAW_C)
        built = subprocess.run(["cc", "-O2", str(source), "-o", f"{folder}/raw", f"-I{options.cuda}/include",
                                f"-L{options.cuda}/lib64/stubs", "-lcuda"], capture_output=True, text=True)
        print("cuLaunchKernelEx:", run([f"{folder}/raw"]) if built.returncode == 0 else built.stderr.strip()[-300:])


if __name__ == "__main__":
    sys.exit(main())
