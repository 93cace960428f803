"""Launches on GPUs of a driver without any (test/fake_cuda): tensors of two devices, what a GPU tells, kernels that
fault or never end, forks, the end of a program. Skipped for a package that lies outside of a build."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from nereid import _C

PTXAS = pathlib.Path(__file__).resolve().parents[1] / "fake_cuda/ptxas.sh"
FAKE = pathlib.Path(_C.__file__).resolve().parents[2] / "fake_cuda"

START = """
import os, sys, threading, time
import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

class OnGpu:
    def __init__(self, array):
        self.array, self.__cuda_array_interface__ = array, array.__array_interface__
        self.shape, self.dtype = array.shape, array.dtype

class Device:
    type, index = "cuda", 1

class OnSecond:
    device, dtype = Device, "float32"
    def __init__(self, array):
        self.array, self.shape = array, array.shape
    def data_ptr(self):
        return self.array.ctypes.data

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, tl.load(x + o, mask=o < n) + tl.load(y + o, mask=o < n), mask=o < n)

@triton.jit
def copy_block(source, target, BLOCK: tl.constexpr):
    tl.store(target + tl.arange(0, BLOCK), source.load([0]))

def said(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"

class AsCupy(OnGpu):
    def __dlpack_device__(self):
        return 2, 1

host = np.ones(64, "f4")
first, second = OnGpu(host), OnSecond(host)
"""

DEVICES = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
contexts = []
for index in (0, 1):
    contexts.append(ctypes.c_void_p())
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(contexts[-1]), index) == 0

def memory_of(index):
    address, popped = ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuCtxPushCurrent_v2(contexts[index]) == 0 and driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(256)) == 0
    assert driver.cuCtxPopCurrent_v2(ctypes.byref(popped)) == 0
    array = np.frombuffer((ctypes.c_char * 256).from_address(address.value), "f4")
    array[:] = 1
    return array

first, second, third = OnGpu(memory_of(0)), OnSecond(memory_of(1)), AsCupy(memory_of(1))
for arguments in ((host, first, first), (first, host, first), (first, first, host), (first, second, first)):
    print(said(lambda: add[(1,)](*arguments, 64, BLOCK=64)))
print(said(lambda: add[(1,)](first, third, first, 64, BLOCK=64)))
print(said(lambda: copy_block[(1,)](TensorDescriptor(host, [64], [1], [64]), first, BLOCK=64)))
print((first.array == 1).all(), said(lambda: add[(1,)](first, first, first, 64, BLOCK=64)), (first.array == 2).all())
assert driver.cuCtxPushCurrent_v2(contexts[0]) == 0 and driver.cuCtxEnablePeerAccess(contexts[1], 0) == 0
print(said(lambda: add[(1,)](second, first, third, 64, BLOCK=64)), (third.array == 3).all())
"""

STREAMS = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
driver.fake_cuda_last_stream.restype = ctypes.c_void_p

class OnStream(OnGpu):
    def __init__(self, array, stream):
        super().__init__(array)
        self.__cuda_array_interface__ = {**array.__array_interface__, "stream": stream}

def launched_on(array):
    add[(1,)](first, array, first, 64, BLOCK=64)
    return driver.fake_cuda_last_stream()

launched_on(first)
mine, context = ctypes.c_void_p(), ctypes.c_void_p()
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxPushCurrent_v2(context) == 0
assert driver.cuStreamCreate(ctypes.byref(mine), 1) == 0
print(launched_on(first), launched_on(OnStream(host, None)), launched_on(OnStream(host, 2)), launched_on(OnStream(host, mine.value)) == mine.value)
print(said(lambda: launched_on(OnStream(host, "later"))))
"""

FACTS = """
import triton.testing
active = triton.runtime.driver.active
print(active.get_current_target())
facts = active.utils.get_device_properties(0)
print(facts["mem_clock_rate"], facts["mem_bus_width"], round(triton.testing.get_dram_gbps(), 3))
print(triton.testing.get_max_tensorcore_tflops(tl.float16, 1e6), triton.testing.get_max_tensorcore_tflops(tl.int8, 1e6),
      triton.testing.get_max_simd_tflops(tl.float32, 1e6))
kernel = add.warmup(first, first, first, 64, BLOCK=64, grid=(1,))
print(kernel.n_regs > 0, "ptx" in kernel.asm, "cubin" in kernel.asm)
"""

FAULT = """
add[(1,)](first, first, first, 64, BLOCK=64)
print(said(lambda: add[(1,)](first, first, first, 64, BLOCK=64)))
print(said(lambda: add[(1,)](first, first, first, 64, BLOCK=64)))
print(said(lambda: add[(1,)](host, host, host, 64, BLOCK=64)), host[0])
"""

BUSY = """
add[(1,)](first, first, first, 64, BLOCK=64)

def work():
    while True:
        add[(1,)](first, first, first, 64, BLOCK=64)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
child = os.fork()
if child == 0:
    add[(1,)](host, host, host, 64, BLOCK=64)
    os._exit(0 if host[0] == 2 else 1)
print("child", os.waitpid(child, 0)[1])
"""

# Memory of the GPU without any framework: by address, by `__cuda_array_interface__`, by DLPack.
MEMORY = """
import ctypes
from nereid import _C
cuda = ctypes.CDLL("libcuda.so.1")

context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxPushCurrent_v2(context) == 0

def allocated(array):
    address = ctypes.c_void_p()
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(array.nbytes)) == 0
    _C.write(0, address.value, array.tobytes())
    return address.value

class Interface:
    def __init__(self, array):
        self.address, self.like = allocated(array), array
        self.__cuda_array_interface__ = {"data": (self.address, False), "shape": array.shape, "typestr": array.dtype.str, "version": 3}
    def now(self):
        return np.frombuffer(_C.read(0, self.address, self.like.nbytes), self.like.dtype)

class Pointer(Interface):
    def __init__(self, array):
        super().__init__(array)
        del self.__cuda_array_interface__
        self.shape, self.dtype, self.device = array.shape, array.dtype.name, "cuda:0"
    def data_ptr(self):
        return self.address

class Guarded(Pointer):
    # As torch's tensors that have a gradient: refused, and not by an AttributeError.
    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("use detach() first")
    @__cuda_array_interface__.setter
    def __cuda_array_interface__(self, value):
        pass
    @__cuda_array_interface__.deleter
    def __cuda_array_interface__(self):
        pass

class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("index", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("release", ctypes.c_void_p)]

class Dlpack(Interface):
    def __init__(self, array):
        super().__init__(array)
        del self.__cuda_array_interface__
        self.extents = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.described = DLTensor(self.address, 2, 0, array.ndim, {"f": 2, "i": 0}[array.dtype.kind], 8 * array.itemsize, 1,
                                  ctypes.addressof(self.extents), None, 0, None, None)
    def __dlpack_device__(self):
        return 2, 0
    def __dlpack__(self, stream=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.described), b"dltensor", None)
"""

# The fewer warps, the faster: time passes so in this driver. One configuration computes something else.
TUNED = MEMORY + """
import warnings
warnings.simplefilter("always")
for kind in (Interface, Pointer, Guarded, Dlpack):
    @triton.autotune([triton.Config({"BLOCK": 32, "FACTOR": f}, num_warps=w) for f, w in ((3, 8), (5, 1), (3, 2), (3, 4))],
                     key=["n"], reset_to_zero=["count"], restore_value=["y"], warmup=1, rep=4)
    @triton.jit
    def scale(x, y, count, n, BLOCK: tl.constexpr, FACTOR: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(y + i, mask=i < n) + FACTOR * tl.load(x + i, mask=i < n), mask=i < n)
        tl.store(count + tl.program_id(0), tl.load(count + tl.program_id(0)) + 1)

    x, y, count = kind(np.arange(100, dtype="f4")), kind(np.ones(100, "f4")), kind(np.zeros(4, "i4"))
    with warnings.catch_warnings(record=True) as told:
        scale[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, count, 100)
    print(scale.best_config.num_warps, [str(one.message)[:72] for one in told])
    print((y.now() == 1 + 3 * np.arange(100)).all(), count.now().tolist())
"""

FAULTY = MEMORY + """
@triton.autotune([triton.Config({"BLOCK": b}) for b in (32, 64, 128)], key=["n"], warmup=1, rep=2)
@triton.jit
def fill(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i + (1 << 44 if BLOCK == 64 else 0), 7.0, mask=i < n)

x = Interface(np.zeros(100, "f4"))
print(said(lambda: fill[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, 100)))
if len(sys.argv) > 1:
    print((x.now() == 7).all(), fill.best_config.kwargs["BLOCK"] != 64)
"""

# A variable of bitcode that a host sets in each module, as NVSHMEM does: from the hook, and behind a launch.
MODULES = MEMORY + """
@tl.core.extern
def plus_state(x, _semantic=None):
    return tl.core.extern_elementwise("state", "", [x], {(tl.int32, ): ("plus_state", tl.int32)}, is_pure=True, _semantic=_semantic)

@triton.jit
def scale(x, out, n):
    i = tl.arange(0, 32)
    tl.store(out + i, plus_state(tl.load(x + i)) * n)

@triton.jit
def unhooked(x):
    tl.store(x, plus_state(tl.load(x)))

def set_state(module, value):
    address, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert cuda.cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), ctypes.c_void_p(module), b"state") == 0 and size.value == 4
    _C.write(0, address.value, np.int32(value).tobytes())

modules, loaded = [], []
def initialise(*, fn, key, compile, **_):
    kernel = fn.jit_function.device_caches[compile["device"]][0][key]
    kernel.run
    set_state(kernel.module, 100)
    modules.append(kernel.module)

libraries = {"state": sys.argv[1]}
x, out = Interface(np.arange(32, dtype="i4")), Interface(np.zeros(32, "i4"))
first = unhooked[(1,)](x, extern_libs=libraries)
set_state(first.module, 7)
unhooked[(1,)](x, extern_libs=libraries)
print(x.now()[:2].tolist(), type(first.function) is int and first.function != 0)
triton.knobs.runtime.jit_post_compile_hook = initialise
triton.knobs.runtime.kernel_load_end_hook = lambda module, function, *_: loaded.append(module)
for n in (3, 8, 16, 4, 5, 24, 32):
    scale[(1,)](x, out, n, extern_libs=libraries)
    if not (out.now() == (x.now() + 100) * n).all():
        print(n, out.now())
print(len(modules), len(set(modules)), loaded == modules)
compiled = triton.compile(triton.compiler.ASTSource(add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 64}),
                          target=triton.backends.compiler.GPUTarget("cuda", 90, 32))
print(said(lambda: compiled.module))
"""

STATE = """
target triple = "nvptx64-nvidia-cuda"
@state = addrspace(1) externally_initialized global i32 0
define i32 @plus_state(i32 %x) {
  %state = load i32, ptr addrspace(1) @state
  %sum = add i32 %x, %state
  ret i32 %sum
}
"""


@unittest.skipUnless((FAKE / "libcuda.so.1").exists(), "there is no build with a driver for tests")
class Driver(unittest.TestCase):
    def test_tuning_without_a_framework(self):
        found = self.lines(TUNED, "runs", NEREID_PTXAS=str(PTXAS))
        wrong = "autotune of `scale`: the configuration (BLOCK: 32, FACTOR: 5, num_warps: 1"
        self.assertEqual(found, [f"2 ['{wrong[:72]}']", "True [1, 1, 1, 1]"] * 4)

    def test_a_configuration_that_faults(self):
        with tempfile.TemporaryDirectory() as cache:
            told, = self.lines(FAULTY, "runs lost", NEREID_PTXAS=str(PTXAS), NEREID_CACHE_DIR=cache)[1:]
            self.assertRegex(told, r"^RuntimeError: autotune of `fill` ends at the configuration \(BLOCK: 64, .*ILLEGAL_ADDRESS.*"
                                   r"; `.*faults.json` refuses it from now on: start the program again to go on")
            self.assertEqual(self.lines(FAULTY, "runs lost", "again", NEREID_PTXAS=str(PTXAS), NEREID_CACHE_DIR=cache),
                             ["nothing", "True True"])

    def test_a_host_sets_variables_of_modules(self):
        with tempfile.TemporaryDirectory() as cache:
            library = pathlib.Path(cache, "state.ll")
            library.write_text(STATE)
            for _ in ("compiled", "from disk"):
                # `unhooked` adds 0 first, as the variable starts. Of the numbers 3 and 5 are of one class, as are 16, 32.
                self.assertEqual(self.lines(MODULES, "runs", str(library), NEREID_PTXAS=str(PTXAS), NEREID_CACHE_DIR=cache),
                                 ["[7, 1] True", "4 4 True",
                                  "AttributeError: module: `add` was compiled for a target and is not loaded; `warmup` and launches load it"])

    def lines(self, text, scenario="", *words, **variables):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.py"
            path.write_text(START + text)
            done = subprocess.run([sys.executable, "-m", "nereid", path, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=120, cwd=folder,
                                  env={**os.environ, "LD_LIBRARY_PATH": str(FAKE), "FAKE_CUDA": scenario,
                                       "NEREID_CACHE_DIR": folder, **variables})
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout.splitlines()

    def test_tensors_of_two_devices(self):
        found = self.lines(DEVICES, "runs", NEREID_PTXAS=str(PTXAS))
        mixed = "ValueError: argument `{}` of `{}`: Pointer argument cannot be accessed from Triton (cpu tensor?): one lies on {}, another on {}"
        cpu, gpu = "the CPU", "cuda:0"
        self.assertEqual(found, [mixed.format("y", "add", cpu, gpu), mixed.format("y", "add", gpu, cpu), mixed.format("out", "add", gpu, cpu),
                                 mixed.format("y", "add", gpu, "cuda:1"), mixed.format("y", "add", gpu, "cuda:1"),
                                 mixed.format("target", "copy_block", cpu, gpu), "True nothing True", "nothing True"])

    def test_the_stream_that_an_array_names(self):
        handles, wrong = self.lines(STREAMS)
        self.assertEqual(handles, "None None 2 True")
        self.assertRegex(wrong, "^TypeError")

    def test_what_a_gpu_tells(self):
        self.assertEqual(self.lines(FACTS), [
            "GPUTarget(backend='cuda', arch=90, warp_size=32)", "3201000 6144 4916.736", "4.096 8.192 0.256",
            "True True True"])

    def test_a_kernel_that_faults(self):
        first, later, onCpu = self.lines(FAULT, "trap")
        self.assertRegex(first, "^RuntimeError: cannot launch `add`: .*cuda:0 is lost to this process")
        self.assertRegex(later, "^RuntimeError: cuda:0 was lost to an earlier fault: start a new process")
        self.assertEqual(onCpu, "nothing 2.0")

    def test_a_driver_that_does_not_start(self):
        self.assertRegex(self.lines("print(said(lambda: add[(1,)](first, first, first, 64, BLOCK=64)))", "old")[0],
                         "^RuntimeError: cannot open cuda:0: the CUDA driver is too old")

    def test_a_fork_and_an_end_with_launches_in_flight(self):
        for scenario in ("", "hang"):
            self.assertEqual(self.lines(BUSY, scenario), ["child 0"], scenario)


if __name__ == "__main__":
    unittest.main()
