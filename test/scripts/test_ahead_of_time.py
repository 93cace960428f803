"""Kernels built ahead of time run in C programs that link nothing of ours."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
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

PRINTS = """
import triton
import triton.language as tl

@triton.jit
def show(n):
    tl.device_print("n", n)
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

    def compile_add(self, form, out, level="x86-64-v3"):
        run(NEREID, "compile", ROOT / "kernels/vector_add/kernel.py:add", "-s",
            "*fp32:16, *fp32:16, *fp32:16, i32, 1024", "--emit", form, "--cpu", level, "-o", self.folder / out)
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


if __name__ == "__main__":
    unittest.main()
