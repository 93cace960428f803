"""Kernels built ahead of time run in C programs that link nothing of ours."""
import keyword
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "harness"), "/usr/lib/llvm-19/build/utils/lit"]
import kernel_tests

NEREID = ROOT / os.environ.get("NEREID_BUILD", "build/release") / "bin/nereid"

ADD = r"""
#include "add.h"
#include <stdio.h>

enum { n = 5000, programs = (n + 1023) / 1024 };
static _Alignas(64) float x[n], y[n], out[n];

static int wrong(float factor) {
  int count = 0;
  for (int i = 0; i < n; ++i) {
    count += out[i] != factor * (float)i;
    out[i] = -1;
  }
  return count;
}

int main(void) {
  static _Alignas(64) char arena[ADD_ARENA_BYTES + 1];
  for (int i = 0; i < n; ++i) {
    x[i] = (float)i;
    y[i] = 2 * (float)i;
  }
  if (add_run(programs, 1, 1, x, y, out, n) || wrong(3))
    return 1;
  for (int p = programs; p-- > 0;) /* each program by itself, from the last one */
    if (add_run_range((uint64_t)p, 1, programs, 1, 1, arena, x, y, out, n))
      return 2;
  if (wrong(3))
    return 3;
  if (add_run_range(3, programs, programs, 1, 1, arena, x, y, out, n) != NEREID_KERNEL_BAD_GRID ||
      add_run(1, 65536, 1, x, y, out, n) != NEREID_KERNEL_BAD_GRID ||
      add_run(1, 1, 1, x + 1, y, out, n) != NEREID_KERNEL_UNALIGNED ||
      add_run(0, 1, 1, x, y, out, n))
    return 4;
  for (int i = 0; i < n; ++i)
    if (out[i] != -1)
      return 5;
  puts("right");
  return 0;
}
"""

# The object knows its grid, in which products pass 32 bits.
ALL = r"""
#include "add.h"
#include <stdio.h>

enum { n = 5000 };
static _Alignas(64) float x[n], y[n], out[n];

int main(void) {
  for (int i = 0; i < n; ++i) {
    x[i] = (float)i;
    y[i] = 2 * (float)i;
    out[i] = -1;
  }
  if (add_run_all(x, y, out, 0) || out[0] != -1 || add_run_all(x, y, out, -1) != NEREID_KERNEL_BAD_GRID)
    return 1;
  if (add_run_all(x, y, out, n))
    return 2;
  for (int i = 0; i < n; ++i)
    if (out[i] != 3 * (float)i)
      return 3;
  puts("right");
  return 0;
}
"""

# Softmax of rows: mathematics, an arena, a name of its own.
SOFTMAX = r"""
#include "soft.h"
#include <math.h>
#include <stdio.h>

enum { rows = 3, columns = 781 };
static float x[rows][columns], y[rows][columns];

int main(void) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      x[r][c] = sinf((float)(r * columns + c)) * 3;
  if (soft_run(rows, 1, 1, &x[0][0], &y[0][0], columns, columns, columns))
    return 1;
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < columns; ++c)
      sum += exp(x[r][c]);
    for (int c = 0; c < columns; ++c)
      if (!(fabs(y[r][c] - exp(x[r][c]) / sum) < 1e-6))
        return 2;
  }
  puts("right");
  return 0;
}
"""

# Parameters that are called as the header's own, or as C calls something else.
NAMES = """
import triton
import triton.language as tl

@triton.jit
def kept(status, block, count, first, gx, arena, free, default, new, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(block + at, tl.load(status + at, mask=at < count) + first + gx + arena + free + default + new, mask=at < count)
"""
KEPT = r"""
#include "kept.h"
#include <stdio.h>

int main(void) {
  float x[70], y[70];
  for (int i = 0; i < 70; ++i)
    x[i] = (float)i, y[i] = -1;
  if (kept_run_all(x, y, 69, 1, 2, 3, 4, 5, 6))
    return 1;
  for (int i = 0; i < 70; ++i)
    if (y[i] != (i < 69 ? (float)i + 21 : -1))
      return 2;
  puts("right");
  return 0;
}
"""

# What the object is told, by a function in its place.
LARGE = r"""
#include "add.h"
#include <stdio.h>

void add_programs(uint64_t first, uint64_t count, const nereid_cpu_context *context) {
  printf("%llu programs, past the cache above %u KiB\n", (unsigned long long)(first + count), context->stream_above_kib);
}

int main(void) {
  float x[1] = {0}, *aligned = (float *)((uintptr_t)x & ~(uintptr_t)63);
  return add_run(7, 1, 1, aligned, aligned, aligned, 1);
}
"""

PRINTS = """
import triton
import triton.language as tl

@triton.jit
def show(n):
    tl.device_print("n", n)
"""

# What a driver is asked, written down: compute capability from the environment, memory of the host.
FAKE_DRIVER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int current;
int cuInit(unsigned flags) { return getenv("FAKE_NO_INIT") ? 100 : (int)flags; }
int cuCtxGetCurrent(void **context) { return *context = current ? &current : 0, 0; }
int cuCtxSetCurrent(void *context) { return current = context == &current, 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &current, device; }
int cuCtxGetDevice(int *device) { return *device = 0; }
int cuDeviceGetAttribute(int *value, int which, int device) {
  int capability = atoi(getenv("FAKE_CAPABILITY"));
  *value = which == 75 ? capability / 10 : which == 76 ? capability % 10 : -1;
  return device;
}
int cuModuleLoadData(void **module, const void *bytes) {
  printf("load %s\n", memcmp(bytes, "\177ELF", 4) ? "ptx" : "cubin");
  return *module = (void *)bytes, 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  printf("function %s\n", name);
  return *function = module, 0;
}
int cuFuncSetAttribute(void *function, int which, int value) { return printf("set %d = %d\n", which, value), !function; }
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
  printf("launch %u %u %u x %u %u %u shared %u stream %d n %d hidden %d\n", gx, gy, gz, bx, by, bz, shared, stream != 0,
         *(int *)parameters[3], *(void **)parameters[4] != 0);
  printf("x[1] %g\n", (*(float **)parameters[0])[1]);
  return function && !extra ? 0 : 1;
}
#ifndef OLD
struct attribute { int id, pad, flag; char rest[60]; };
struct config { unsigned grid[3], block[3], shared; void *stream; struct attribute *attributes; unsigned count; };
int cuLaunchKernelEx(const struct config *how, void *function, void **parameters, void **extra) {
  for (unsigned i = 0; i < how->count; ++i)
    printf("attribute %d = %d\n", how->attributes[i].id, how->attributes[i].flag);
  return cuLaunchKernel(function, how->grid[0], how->grid[1], how->grid[2], how->block[0], how->block[1], how->block[2],
                        how->shared, how->stream, parameters, extra);
}
#endif
int cuGetErrorString(int code, const char **text) { return *text = "a fake error", code == 0; }
"""

# The one launch of all of these waits for the one ahead of it by itself.
WAITS = """
import triton
import triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_wait()
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
    tl.extra.cuda.gdc_launch_dependents()
"""

LAUNCH = r"""
#include "add.h"
#include <stdio.h>

static _Alignas(64) float x[4] = {1, 2}, y[4], out[4];

int main(void) {
  for (int i = 0; i < 2; ++i) {
    int status = add_launch(0, 5, 1, 1, x, y, out, 4096);
    if (status) {
      printf("refused %d: %s\n", status, nereid_cuda_text(status));
      return 0;
    }
  }
  printf("unaligned %d, grid %d, empty %d\n", add_launch(0, 1, 1, 1, x + 1, y, out, 4) == NEREID_CUDA_UNALIGNED,
         add_launch(0, 1, 65536, 1, x, y, out, 4) == NEREID_CUDA_BAD_GRID, add_launch(0, 0, 1, 1, x, y, out, 4));
  return 0;
}
"""


def run(*command, fails=False, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, **more)
    if bool(done.returncode) != fails:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


@unittest.skipUnless(NEREID.exists(), f"no {NEREID}")
class AheadOfTime(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def compile_add(self, form, out, level="x86-64-v3", words=()):
        run(NEREID, "compile", ROOT / "kernels/vector_add/kernel.py:add", "-s",
            "*fp32:16, *fp32:16, *fp32:16, i32, 1024", "--emit", form, "--cpu", level, *words, "-o", self.folder / out)
        (self.folder / "main.c").write_text(ADD)

    def program(self, compiler, *files):
        run(compiler, "-std=c11", "-pedantic-errors", "-Wall", "-Werror", "-I", self.folder, self.folder / "main.c",
            *files, "-lm", "-o", self.folder / "main")
        self.assertIn("right", run(self.folder / "main"))
        return run("ldd", self.folder / "main")

    def test_an_object(self):
        for level in ("x86-64", "x86-64-v3", "native"):
            self.compile_add("obj", "add.o", level)
            libraries = self.program("clang-19", self.folder / "add.o")
            for foreign in ("LLVM", "MLIR", "nereid", "stdc++"):
                self.assertNotIn(foreign, libraries)
        globals_ = run("nm", "-g", "--defined-only", self.folder / "add.o").split()
        self.assertEqual(globals_[2:], ["add_programs"])

    def test_a_grid_of_its_own(self):
        self.compile_add("obj", "add.o", words=["--grid", "-1 if n < 0 else n * 2**20 // (BLOCK * 2**20) + (n % BLOCK != 0)"])
        (self.folder / "main.c").write_text(ALL)
        for compiler in filter(shutil.which, ("gcc", "clang-19")):
            self.program(compiler, self.folder / "add.o")

    def test_names_that_the_header_has(self):
        (self.folder / "names.py").write_text(NAMES)
        words = [NEREID, "compile", self.folder / "names.py:kept", "-s", "*fp32, *fp32, i32, i32, i32, i32, i32, i32, i32, 64",
                 "--grid", "cdiv(count, B)", "-o", self.folder / "kept.o"]
        run(*words, "--emit", "obj")
        (self.folder / "main.c").write_text(KEPT)
        for compiler in filter(shutil.which, ("gcc", "clang-19")):
            self.program(compiler, self.folder / "kept.o")
        run("clang-19", "-x", "c++", "-fsyntax-only", "-Wall", "-Wno-unused-function", "-Werror", self.folder / "kept.h")
        run(*words, "--emit", "obj", "-t", "sm_90a")
        for language in ("c", "c++"):
            run("clang-19", "-x", language, "-fsyntax-only", "-Wall", "-Wno-unused-function", "-Werror", self.folder / "kept.h")

    def test_words_of_c_and_cpp(self):
        words = """alignas alignof and_eq arguments asm auto bitand bitor bool case catch char char16_t char32_t char8_t co_await co_return co_yield
            compl complex concept const const_cast consteval constexpr constinit context decltype default delete do double dlsym dynamic_cast enum
            errno explicit export extern false float friend goto inline int int32_t linux long mutable namespace new noexcept not_eq nullptr
            operator or_eq private protected public register reinterpret_cast requires restrict short signed size_t sizeof static static_assert
            static_cast struct switch template this thread_local throw true typedef typeid typename typeof union unsigned using virtual void
            volatile wchar_t while xor xor_eq I NULL UINT32_MAX _Bool _Generic stdout unix stream codes nereid_cdiv nereid_cuda_open
            taken_programs taken_run taken_launch taken_arguments TAKEN_ARENA_BYTES""".split()
        words = [word for word in words if not keyword.iskeyword(word)]
        (self.folder / "taken.py").write_text(
            "import triton\nimport triton.language as tl\n\n@triton.jit\ndef taken(out, " + ", ".join(words) +
            "):\n    tl.store(out, " + " + ".join(words) + ")\n")
        call = ", ".join(str(2 ** (i % 20)) for i in range(len(words)))
        main = f"""#include <errno.h>
#include <stdio.h>
#ifndef __cplusplus
#include <complex.h>
#endif
#include "taken.h"
int main() {{
  int out = 0;
  int status = taken_run_all(&out, {call});
  return printf(status || out != {sum(2 ** (i % 20) for i in range(len(words)))} ? "wrong %d\\n" : "right\\n", out) < 0;
}}
"""
        compile_ = [NEREID, "compile", self.folder / "taken.py:taken", "-s", ", ".join(["*i32"] + ["i32"] * len(words)), "--emit", "obj",
                    "--grid", "min(1, concept + 1)", "-o", self.folder / "taken.o"]
        for target in ([], ["-t", "sm_90a"]):
            run(*compile_, *target)
            for language, standard in (("c", "gnu11"), ("c++", "gnu++20")):
                run("clang-19", "-x", language, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wno-unused-function", "-Werror",
                    self.folder / "taken.h")
        run(*compile_)
        for compiler, suffix, standard in (("clang-19", "c", "gnu11"), ("clang++-19", "cpp", "gnu++20")):
            (self.folder / f"main.{suffix}").write_text(main)
            run(compiler, f"-std={standard}", "-I", self.folder, self.folder / f"main.{suffix}", self.folder / "taken.o", "-o", self.folder / "main")
            self.assertEqual(run(self.folder / "main"), "right\n")

    def test_parameters_of_one_name(self):
        # A name that can stay does; what gives way to it differs from all others.
        (self.folder / "alike.py").write_text("""
import triton
import triton.language as tl

@triton.jit
def alike(count, x, count_, x_, x_shape: tl.tensor_descriptor, count__):
    tl.store(x, 1000 * count + 100 * count_ + 10 * count__ + tl.load(x_))
    x_shape.store([0], tl.full((16,), 7, tl.int32))
""")
        (self.folder / "main.c").write_text(r"""#include "alike.h"
#include <stdio.h>
int main(void) {
  int x = 0, y = 5, z[16] = {0};
  const int64_t shape[] = {16}, strides[] = {1};
  int status = alike_run(1, 1, 1, 1, &x, 2, &y, z, shape, strides, 3);
  printf("%d %d %d\n", status, x, z[15]);
  return 0;
}
""")
        run(NEREID, "compile", self.folder / "alike.py:alike", "-s", "i32, *i32, i32, *i32, tensordesc<i32[16]>, i32", "--emit", "obj",
            "-o", self.folder / "alike.o")
        header = (self.folder / "alike.h").read_text()
        for name in ("int32_t count___,", "int32_t count_,", "int32_t count__)", " x_,", "x_shape_shape"):
            self.assertIn(name, header)
        run("clang-19", "-I", self.folder, self.folder / "main.c", self.folder / "alike.o", "-o", self.folder / "main")
        self.assertEqual(run(self.folder / "main"), "0 1235 7\n")

    def test_a_c_file(self):
        self.compile_add("c", "add.c")
        for compiler in filter(shutil.which, ("gcc", "clang-19")):
            self.program(compiler, self.folder / "add.c")

    def test_a_shared_object(self):
        self.compile_add("so", "libadd.so")
        (self.folder / "libadd.h").rename(self.folder / "add.h")
        self.program("clang-19", self.folder / "libadd.so", f"-Wl,-rpath,{self.folder}")

    def test_the_header_serves_cpp(self):
        self.compile_add("obj", "add.o")
        (self.folder / "main.cpp").write_text('#include "add.h"\nint main() { return !add_supported(); }\n')
        run("clang++-19", "-std=c++20", "-Wall", "-Werror", "-I", self.folder, self.folder / "main.cpp",
            self.folder / "add.o", "-lm", "-o", self.folder / "main")
        run(self.folder / "main")

    def test_large_grids_write_past_the_cache(self):
        self.compile_add("obj", "add.o")
        (self.folder / "main.c").write_text(LARGE)
        for flags, above in ([], 8192), (["-DNEREID_STREAM_ABOVE_KIB=0"], 0):
            run("clang-19", "-std=c11", "-Wall", "-Werror", *flags, "-I", self.folder, self.folder / "main.c", "-o", self.folder / "main")
            self.assertEqual(run(self.folder / "main"), f"7 programs, past the cache above {above} KiB\n")

    def test_mathematics_and_a_name(self):
        run(NEREID, "compile", ROOT / "kernels/softmax/kernel.py:softmax_row", "-s",
            "*fp32, *fp32, i32, i32, i32, 1024", "--emit", "obj", "--out-name", "soft", "-o", self.folder / "soft.o")
        (self.folder / "main.c").write_text(SOFTMAX)
        self.program("clang-19", self.folder / "soft.o")

    def test_what_cannot_stand_alone_is_refused(self):
        (self.folder / "show.py").write_text(PRINTS)
        output = run(NEREID, "compile", f"{self.folder}/show.py:show", "-s", "i32", "--emit", "obj", "-o",
                     self.folder / "show.o", fails=True)
        self.assertIn("needs the runtime", output)
        output = run(NEREID, "compile", f"{self.folder}/show.py:show", "-s", "i32", "--emit", "c", fails=True)
        self.assertIn("-o", output)
        output = run(NEREID, "compile", f"{self.folder}/show.py:show", "-s", "i32", "--emit", "obj", "--cpu", "z80",
                     "-o", self.folder / "show.o", fails=True)
        self.assertIn("unknown level `z80`", output)
        self.assertFalse((self.folder / "show.o").exists())


@unittest.skipUnless(NEREID.exists(), f"no {NEREID}")
@unittest.skipUnless(kernel_tests.find_ptxas(ROOT), "no ptxas")
class AheadOfTimeGpu(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def build(self, targets, compiler="clang-19", kernel=ROOT / "kernels/vector_add/kernel.py:add", words=(), driver=(), source=LAUNCH):
        run(NEREID, "compile", kernel, "-s", "*fp32:16, *fp32:16, *fp32:16, i32, 1024",
            "--emit", "obj", "--target", targets, *words, "-o", self.folder / "add.o")
        (self.folder / "main.c").write_text(source)
        (self.folder / "fake.c").write_text(FAKE_DRIVER)
        run(compiler, "-std=c11", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-I", self.folder, self.folder / "main.c",
            self.folder / "add.o", "-o", self.folder / "main")
        run("clang-19", *driver, "-shared", "-fPIC", self.folder / "fake.c", "-o", self.folder / "libcuda.so.1")

    def launch(self, capability, **more):
        return run(self.folder / "main", env={"LD_LIBRARY_PATH": str(self.folder), "FAKE_CAPABILITY": str(capability), **more})

    def test_a_device_gets_its_code(self):
        for compiler in filter(shutil.which, ("clang-19", "gcc")):
            self.build("sm_80,sm_90a", compiler)
            libraries = run("ldd", self.folder / "main")
            for foreign in ("libcuda", "LLVM", "nereid", "stdc++"):
                self.assertNotIn(foreign, libraries)
        symbols = run("nm", "-g", "--defined-only", self.folder / "add.o").split()[2::3]
        self.assertEqual(sorted(symbols), ["add_cubin_sm_80", "add_cubin_sm_90a", "add_ptx_sm_80", "add_ptx_sm_90a"])
        for capability, kind in ((80, "cubin"), (86, "cubin"), (90, "cubin"), (100, "ptx"), (120, "ptx")):
            told = self.launch(capability).splitlines()
            self.assertEqual(told[:2], [f"load {kind}", "function add"])
            # Loaded once, launched twice, with the arguments where the kernel looks for them.
            self.assertEqual(told[2:6], ["launch 5 1 1 x 128 1 1 shared 0 stream 0 n 4096 hidden 0", "x[1] 2"] * 2)
            self.assertEqual(told[6:], ["unaligned 1, grid 1, empty 0"])

    def test_a_grid_of_its_own(self):
        source = LAUNCH.replace("add_launch(0, 5, 1, 1, ", "add_launch_all(0, ")
        self.build("sm_90a", words=["--grid", "cdiv(n, BLOCK) + 1, max(1, 0)"], source=source)
        self.assertIn("launch 5 1 1 x 128 1 1 shared 0 stream 0 n 4096 hidden 0", self.launch(90).splitlines())

    def test_how_a_launch_starts(self):
        (self.folder / "waits.py").write_text(WAITS)
        early, together = "attribute 6 = 1", "attribute 2 = 1"  # as the driver numbers them
        for words, found in (([], []), (["--launch-pdl"], [early]), (["--launch-cooperative-grid"], [together]),
                             (["--launch-pdl", "--launch-cooperative-grid"], [early, together])):
            self.build("sm_80,sm_90a", kernel=f"{self.folder}/waits.py:add", words=words)
            told = self.launch(90).splitlines()
            self.assertEqual([line for line in told if line.startswith("attribute")], 2 * found, words)
            self.assertIn("launch 5 1 1 x 128 1 1 shared 0 stream 0 n 4096 hidden 0", told)
            # The chip of the other code has no such waits.
            told = self.launch(80).splitlines()
            self.assertEqual([line for line in told if line.startswith("attribute")], 2 * [one for one in found if one != early])
        # With a driver that knows no attributes a launch starts in order; not that all programs run at once.
        self.assertIn("refused 10006: the CUDA driver is too old to start all programs", self.rebuilt(words))
        self.assertIn("launch 5 1 1", self.rebuilt(["--launch-pdl"]))

    def rebuilt(self, words):
        self.build("sm_90a", kernel=f"{self.folder}/waits.py:add", words=words, driver=["-DOLD"])
        return self.launch(90)

    def test_devices_without_code_are_refused(self):
        self.build("sm_90a")
        self.assertIn("refused 10002: the object holds no code", self.launch(80))
        self.assertIn("refused 10001: there is no CUDA driver", self.launch(90, FAKE_NO_INIT="1"))
        self.assertIn("load cubin", self.launch(90))

    def test_without_a_driver(self):
        self.build("sm_90a")
        (self.folder / "libcuda.so.1").write_text("not a library")
        self.assertIn("refused 10001: there is no CUDA driver", self.launch(90))

    def test_the_header_serves_cpp(self):
        self.build("cuda")
        (self.folder / "main.cpp").write_text('#include "add.h"\nint main() { return add_launch(nullptr, 0, 1, 1, 0, 0, 0, 0) == 1; }\n')
        run("clang++-19", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", self.folder, self.folder / "main.cpp",
            self.folder / "add.o", "-o", self.folder / "cpp")
        self.assertIn("sm_90a, sm_89, sm_86, sm_80", (self.folder / "add.h").read_text())

    def test_refusals(self):
        (self.folder / "show.py").write_text(PRINTS)
        compile_ = [NEREID, "compile", self.folder / "show.py:show", "-s", "i32", "--emit", "obj"]
        self.assertIn("prints or asserts", run(*compile_, "--target", "cuda", "-o", self.folder / "show.o", fails=True))
        self.assertIn("name one with `-o`", run(*compile_, "--target", "sm_80", fails=True))
        self.assertIn("unknown target `sm_80,sm_81`", run(*compile_, "--target", "sm_80,sm_81", "-o", self.folder / "x.o", fails=True))
        self.assertIn("is of one chip", run(*compile_[:-1], "ptx", "--target", "sm_80,sm_90", fails=True))

    def test_machine_code(self):
        # A disassembler is no part of what ptxas comes with: one that we can predict stands in.
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "nvdisasm").write_text("#!/bin/sh\necho $1; head -c 4 \"$2\" | tail -c 3; echo \" of $(basename $2)\"\n")
        (tools / "nvdisasm").chmod(0o755)
        compile_ = [NEREID, "compile", ROOT / "kernels/vector_add/kernel.py:add", "-s", "*fp32:16, *fp32:16, *fp32:16, i32, 1024",
                    "--target", "sm_80", "--emit", "sass"]
        path = f"{tools}:{os.environ['PATH']}"
        self.assertEqual(run(*compile_, env={**os.environ, "PATH": path}), "-c\nELF of in.cubin\n")
        (tools / "nvdisasm").write_text("#!/bin/sh\necho it is too new; exit 3\n")
        self.assertIn("it is too new", run(*compile_, env={**os.environ, "PATH": path}, fails=True))


if __name__ == "__main__":
    unittest.main()
