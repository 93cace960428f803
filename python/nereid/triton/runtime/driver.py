"""The device that programs ask about. Without a usable GPU it is the CPU: `get_active_torch_device()` is then
`torch.device('cpu')` and `get_current_target()` is `GPUTarget('cpu', 'x86-64', 1)`."""
import functools
import os
from typing import NamedTuple, Union

from nereid import _C


class GPUTarget(NamedTuple):
    backend: str
    arch: Union[int, str]
    warp_size: int

    def is_cuda_backend(self):
        """As programs for Meta's Triton ask."""
        return self.backend == "cuda"


@functools.lru_cache(None)
def _gpu_count():
    return 0 if os.environ.get("NEREID_DEVICE") == "cpu" else _C.gpu_count()


def _torch():
    import sys

    return sys.modules.get("torch")


def gpu_torch():
    """torch, where the program has imported it and it sees a GPU; else None."""
    torch = _torch()
    return torch if torch is not None and torch.cuda.is_available() else None


def current_device():
    """The index of the current GPU; -1 is the CPU."""
    if not _gpu_count():
        return -1
    torch = gpu_torch()
    return torch.cuda.current_device() if torch else 0


def current_stream(index):
    torch = gpu_torch()
    if index < 0 or not torch:
        return 0
    return torch.cuda.current_stream(index).cuda_stream


def _attribute(index, which):
    """What the driver says of a GPU: `CU_DEVICE_ATTRIBUTE_*` by number."""
    import ctypes

    cuda, device, value = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_int()
    if cuda.cuDeviceGet(ctypes.byref(device), index) or cuda.cuDeviceGetAttribute(ctypes.byref(value), which, device):
        raise RuntimeError(f"cuda:{index} does not tell its attribute {which}")
    return value.value


_MEMORY_CLOCK_KHZ, _MEMORY_BUS_BITS = 36, 37


class _Utils:
    def get_device_properties(self, index=None):
        """As Triton's; a CPU answers for one of its cores as a multiprocessor with much temporary memory."""
        index = current_device() if index is None else index
        facts = _C.device(-1 if index is None or not _gpu_count() else index)
        cpu = facts["name"] == "cpu"
        return {
            "max_shared_mem": 1 << 30 if cpu else facts["shared"],
            "max_num_regs": 65536,
            "multiprocessor_count": facts["units"],
            "warpSize": 1 if cpu else 32,
            "sm_clock_rate": facts["clock_khz"],
            "mem_clock_rate": 0 if cpu else _attribute(index, _MEMORY_CLOCK_KHZ),
            "mem_bus_width": 0 if cpu else _attribute(index, _MEMORY_BUS_BITS),
        }


class Driver:
    utils = _Utils()
    binary_ext = "object"

    @staticmethod
    def is_active():
        return True

    def get_current_device(self):
        return max(current_device(), 0)

    def set_current_device(self, index):
        torch = _torch()
        if torch is not None and _gpu_count():
            torch.cuda.set_device(index)

    def get_current_stream(self, device=None):
        return current_stream(current_device() if device is None else device)

    def get_current_target(self):
        index = current_device()
        if index < 0:
            return GPUTarget("cpu", "x86-64", 1)
        return GPUTarget("cuda", int("".join(c for c in _C.device(index)["arch"] if c.isdigit())), 32)

    def get_device_capability(self, index=0):
        target = self.get_current_target()
        return divmod(target.arch, 10) if target.backend == "cuda" else (0, 0)

    def get_active_torch_device(self):
        import torch

        index = current_device()
        return torch.device("cpu") if index < 0 else torch.device("cuda", index)

    def get_device_interface(self):
        import torch

        return torch.cuda if current_device() >= 0 else _CpuInterface()

    def get_benchmarker(self):
        from ..testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self):
        import torch

        return torch.empty(256 << 20 if current_device() >= 0 else 1 << 20, dtype=torch.int8,
                           device=self.get_active_torch_device())

    def clear_cache(self, cache):
        cache.zero_()

    def map_python_to_cpp_type(self, ty):
        return ty


class _CpuInterface:
    """The part of `torch.cuda` that programs use, on a CPU, where work is done when it is asked for."""

    class Event:
        def __init__(self, enable_timing=False, **_):
            self.time = None

        def record(self, stream=None):
            import time

            self.time = time.perf_counter()

        def elapsed_time(self, other):
            return (other.time - self.time) * 1e3

        def synchronize(self, *_):
            pass

        wait = query = synchronize

    @staticmethod
    def synchronize(device=None):
        pass

    @staticmethod
    def current_device():
        return 0

    @staticmethod
    def is_available():
        return True


class CpuDriver(Driver):
    """The CPU, also where there is a GPU."""

    @staticmethod
    def is_active():
        return True

    def get_current_target(self):
        return GPUTarget("cpu", "x86-64", 1)

    def get_active_torch_device(self):
        import torch

        return torch.device("cpu")

    def get_device_interface(self):
        return _CpuInterface()


class CudaDriver(Driver):
    @staticmethod
    def is_active():
        return _gpu_count() > 0


class _DriverConfig:
    def __init__(self):
        self._default = Driver()
        self.active = self._default

    @property
    def default(self):
        return self._default

    def set_active(self, driver):
        self.active = driver

    def set_active_to_cpu(self):
        """As programs of triton-cpu say it."""
        self.active = CpuDriver()

    def set_active_to_gpu(self):
        if not _gpu_count():
            raise RuntimeError("there is no GPU")
        self.active = CudaDriver()

    def reset_active(self):
        self.active = self._default


driver = _DriverConfig()
