"""`triton.tools.compile` and `triton.tools.link`: C source with a kernel in it, built by a C compiler and launched on a driver without a
GPU (test/fake_cuda). Skipped without a C compiler and for a package that lies outside of a build."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from nereid import _C

PTXAS = pathlib.Path(__file__).resolve().parents[1] / "fake_cuda/ptxas.sh"
FAKE = pathlib.Path(_C.__file__).resolve().parents[2] / "fake_cuda"
COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang", "clang-19"))), None)

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def scale(x, y, n, by, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * by, mask=i < n)

@triton.jit
def says(x, n):
    tl.device_print("n", n)

@triton.jit
def first_known(BLOCK: tl.constexpr, x):
    tl.store(x + tl.arange(0, BLOCK), 1.0)
"""

# What the sources need of the CUDA toolkit.
CUDA_H = """
typedef unsigned long long CUdeviceptr;
typedef int CUresult, CUdevice, CUdevice_attribute, CUfunction_attribute;
typedef struct CUstream_st *CUstream;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUfunc_st *CUfunction;
typedef struct {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  void *attrs;
  unsigned numAttrs;
} CUlaunchConfig;
enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 };
enum { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
CUresult cuLibraryLoadData(CUlibrary *, const void *, void *, void **, unsigned, void *, void **, unsigned);
CUresult cuLibraryGetKernel(CUkernel *, CUlibrary, const char *);
CUresult cuKernelGetFunction(CUfunction *, CUkernel);
CUresult cuLibraryUnload(CUlibrary);
CUresult cuCtxGetDevice(CUdevice *);
CUresult cuDeviceGetAttribute(int *, CUdevice_attribute, CUdevice);
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int);
CUresult cuGetErrorString(CUresult, const char **);
CUresult cuLaunchKernelEx(const CUlaunchConfig *, CUfunction, void **, void **);
"""

HOST = """
import ctypes, sys
import numpy as np
driver = ctypes.CDLL("libcuda.so.1", ctypes.RTLD_GLOBAL)
context = ctypes.c_void_p()
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxPushCurrent_v2(context)
library = ctypes.CDLL(sys.argv[1])
library.load_scale()
print(library.scale_get_num_algos())

def scaled(n, offset, algorithm=None):
    x = np.arange(n + offset, dtype="f4")
    bytes_, memory = ctypes.c_size_t(x.nbytes), [ctypes.c_uint64(), ctypes.c_uint64()]
    for one in memory:
        driver.cuMemAlloc_v2(ctypes.byref(one), bytes_)
        driver.cuMemcpyHtoD_v2(one, x.ctypes.data_as(ctypes.c_void_p), bytes_)
    at = [ctypes.c_uint64(one.value + 4 * offset) for one in memory]
    words = [ctypes.c_void_p(0), *at, ctypes.c_int32(n), ctypes.c_float(0.5)]
    result = library.scale_default(*words) if algorithm is None else library.scale(*words, algorithm)
    out = np.empty_like(x)
    driver.cuMemcpyDtoH_v2(out.ctypes.data_as(ctypes.c_void_p), memory[1], bytes_)
    return result, bool(np.array_equal(out[offset:], x[offset:] / 2))

print(scaled(64, 0), scaled(61, 0), scaled(61, 1), scaled(64, 0, 1), scaled(64, 0, 2)[0], scaled(0, 0))
library.unload_scale()
"""


def run(folder, *words, **variables):
    done = subprocess.run([sys.executable, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, cwd=folder,
                          env={**os.environ, "LD_LIBRARY_PATH": str(FAKE), "FAKE_CUDA": "runs", "NEREID_PTXAS": str(PTXAS),
                               "NEREID_CACHE_DIR": str(folder), **variables})
    return done.returncode, done.stdout


@unittest.skipIf(COMPILER is None or not FAKE.exists(), "needs a C compiler and the driver of the tests")
class AheadOfTime(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        (self.folder / "kernel.py").write_text(KERNEL)
        (self.folder / "cuda.h").write_text(CUDA_H)

    def tearDown(self):
        self.scratch.cleanup()

    def compile(self, name, signature, *words):
        return run(self.folder, "-m", "nereid", "-m", "triton.tools.compile", "kernel.py", "-n", name, "-s", signature, "-t", "cuda:80:32", *words)

    def test_specialisations_under_one_name(self):
        for signature in ("*fp32:16, *fp32:16, i32:16, fp32, 32", "*fp32:16, *fp32:16, i32, fp32, 32", "*fp32, *fp32, i32, fp32, 32",
                          "*fp32, *fp32, i32, fp32, 64"):
            code, said = self.compile("scale", signature, "-g", "(n + 31) / 32, 1, 1", "-w", "1")
            self.assertEqual(code, 0, said)
        headers = sorted(self.folder.glob("scale.*.h"), key=lambda path: ("64_" in path.read_text(), path))
        self.assertEqual(len(headers), 4)
        code, said = run(self.folder, "-m", "nereid", "-m", "triton.tools.link", *headers, "-o", "scale")
        self.assertEqual(code, 0, said)
        subprocess.run([COMPILER, "-shared", "-fPIC", "-Wall", "-Werror", "-I.", "-o", "libscale.so", *self.folder.glob("scale*.c")],
                       cwd=self.folder, check=True)
        (self.folder / "host.py").write_text(HOST)
        code, said = run(self.folder, "host.py", self.folder / "libscale.so")
        self.assertEqual((code, said.splitlines()), (0, ["2", "(0, True) (0, True) (0, True) (0, True) 1 (0, True)"]))

    def test_what_has_no_such_source(self):
        for name, signature, words, expected in (
                ("says", "*fp32, i32", ("-g", "1, 1, 1"), "`says` prints, asserts or needs scratch memory"),
                ("says", "*fp32", ("-g", "1, 1, 1"), "the signature has 1 parts, but `says` has 2 parameters: x, n"),
                ("says", "*fp32, i32", ("-g", "1"), "the grid has 1 parts, not 3"),
                ("says", "*fp32, tensordesc<fp16[16]>", ("-g", "1, 1, 1"), "`n` of type `tensordesc<fp16[16]>` has no form in C"),
                ("says", "*fp32:8, i32", ("-g", "1, 1, 1"), "the hint of `*fp32:8` is neither 1 nor 16"),
                ("says", "*fp32, i32", ("-g", "1, 1, 1", "-t", "cpu:x86:1"), "there is no C source for the target cpu:x86")):
            code, said = self.compile(name, signature, *words)
            self.assertEqual(code, 1)
            self.assertIn(expected, said)

    def test_hints_behind_constants(self):
        code, said = self.compile("first_known", "32, *fp32:16", "-g", "1, 1, 1")
        self.assertEqual(code, 0, said)
        code, said = run(self.folder, "-m", "nereid", "-m", "triton.tools.link", *self.folder.glob("first_known.*.h"))
        self.assertEqual(code, 1)
        self.assertIn("constants stand before it: put them last", said)


if __name__ == "__main__":
    unittest.main()
