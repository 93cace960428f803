"""Helpers that tests of kernels import from Triton: which device there is, random arrays, conversions."""
import contextlib
import os
from typing import NamedTuple

import numpy as np

import nereid.triton as triton
from nereid.triton import language as tl
from nereid.triton.runtime.driver import current_device
from nereid.triton.runtime.jit import TensorWrapper, reinterpret, type_canonicalisation_dict

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = float_dtypes + ["bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = dtypes + ["bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool"] + int_dtypes + ["uint8"] + float_dtypes + ["bfloat16"]
tma_dtypes = sorted(set(dtypes_with_bfloat16) - {"int64", "uint64", "float64"})


def is_interpreter():
    return os.environ.get("TRITON_INTERPRET", "0") == "1"


def is_compile_warmup():
    return False


def random_int(low, high, *, warmup_value=None, **kwargs):
    import torch

    return int(torch.randint(low, high, size=(), **kwargs))


def random_float(*, warmup_value=0.5, **kwargs):
    import torch

    return float(torch.rand((), **kwargs))


def get_current_target():
    return None if is_interpreter() else triton.runtime.driver.active.get_current_target()


def _capability():
    if is_interpreter() or current_device() < 0:
        return (0, 0)
    return triton.runtime.driver.active.get_device_capability()


def is_cuda():
    return _capability() != (0, 0)


def is_ampere_or_newer():
    return _capability()[0] >= 8


def is_hopper_or_newer():
    return _capability()[0] >= 9


def is_hopper():
    return _capability()[0] == 9


def is_blackwell():
    return _capability()[0] in (10, 11)


def is_blackwell_ultra():
    return _capability() == (10, 3)


def is_rubin():
    return _capability() == (10, 7)


def is_sm12x():
    return _capability()[0] == 12


def _never():
    return False


is_hip = is_hip_cdna = is_hip_cdna2 = is_hip_cdna3 = is_hip_cdna4 = is_hip_cdna3_or_newer = _never
is_hip_rdna = is_hip_rdna3 = is_hip_rdna4 = is_hip_rdna4m = is_hip_gfx1250 = is_hip_gfx12 = is_xpu = _never


def is_cpu():
    return not is_interpreter() and current_device() < 0


def get_hip_lds_size():
    return 65536


def numpy_random(shape, dtype_str, rs=None, low=None, high=None):
    """Random elements of a type; integers are never 0, and a bfloat16 is a float32 that holds one."""
    shape = (shape, ) if isinstance(shape, int) else shape
    rs = np.random.RandomState(seed=17) if rs is None else rs
    if dtype_str in integral_dtypes:
        limits = np.iinfo(dtype_str)
        low = limits.min if low is None else max(low, limits.min)
        high = limits.max if high is None else min(high, limits.max)
        found = rs.randint(low, high, shape, dtype=dtype_str)
        found[found == 0] = 1
        return found
    if dtype_str and "float8" in dtype_str:
        return rs.randint(20, 40, shape, dtype=np.int8)
    if dtype_str in float_dtypes:
        return rs.normal(0, 1, shape).astype(dtype_str)
    if dtype_str == "bfloat16":
        return (rs.normal(0, 1, shape).astype("float32").view("uint32") & np.uint32(0xffff0000)).view("float32")
    if dtype_str in ("bool", "int1", "bool_"):
        return rs.normal(0, 1, shape) > 0.0
    raise RuntimeError(f"Unknown dtype {dtype_str}")


def to_triton(x, device, dst_type=None):
    """A NumPy array as an argument; torch has no unsigned types, so those are seen through a signed tensor."""
    import torch

    name = x.dtype.name
    if name in uint_dtypes:
        return reinterpret(torch.tensor(x.astype(name[1:]), device=device), getattr(tl, name))
    tensor = torch.tensor(x, device=device)
    if dst_type and "float8" in dst_type:
        return reinterpret(tensor, getattr(tl, dst_type))
    return tensor.bfloat16() if name == "float32" and dst_type == "bfloat16" else tensor


def str_to_triton_dtype(x):
    return tl.str_to_ty(type_canonicalisation_dict[x], None)


def torch_dtype_name(dtype):
    if isinstance(dtype, tl.dtype):
        return {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}.get(dtype.name, dtype.name)
    return str(dtype).removeprefix("torch.")


def to_numpy(x):
    import torch

    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().astype(torch_dtype_name(x.dtype))
    if isinstance(x, torch.Tensor):
        return x.cpu().float().numpy() if x.dtype is torch.bfloat16 else x.cpu().numpy()
    raise ValueError(f"Not a triton-compatible tensor: {x}")


def supports_tma(byval_only=False):
    return is_interpreter() or is_hopper_or_newer()


def supports_ws():
    return is_interpreter() or is_hopper_or_newer()


def supports_clc():
    return _capability()[0] >= 10


def tma_skip_msg(byval_only=False):
    return "Requires advanced TMA support (NVIDIA Hopper or higher, CUDA 12.3 or higher)"


def _requires_tma():
    import pytest

    return pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())


def default_alloc_fn(size, align, _):
    import torch

    return torch.empty(size, dtype=torch.int8, device=triton.runtime.driver.active.get_active_torch_device())


def _fresh_knobs_impl(skipped_attr=None):
    """(a function that sets the groups of knobs to their defaults, one that puts their values back)."""
    from nereid.triton import knobs

    groups = [group for name, group in vars(knobs).items()
              if isinstance(group, knobs.base_knobs) and name not in (skipped_attr or ())]
    scopes = contextlib.ExitStack()

    def fresh():
        for group in groups:
            scopes.enter_context(group.scope())
            for setting in group.knob_descriptors.values():
                os.environ.pop(setting.key, None)
            group.reset()
        return knobs

    return fresh, scopes.close


class ProcessResult(NamedTuple):
    exc: object
    driver_stderr_output: str


def _in_child(module, name, args, kwargs, path, result):
    import importlib

    import nereid

    nereid.install()  # before the function's module imports `triton`
    call = getattr(importlib.import_module(module), name)
    descriptor = os.open(path, os.O_WRONLY)
    os.dup2(descriptor, 2)
    failure = None
    try:
        call(*args, **kwargs)
    except Exception as error:
        failure = error
    try:
        result.send(failure)
    except Exception:
        result.send(RuntimeError(f"{type(failure).__name__}: {failure}"))


def run_in_process(call, args=(), kwargs=None, env=None):
    """Runs a function in a process of its own, whose errors leave this one's GPU alone."""
    import multiprocessing
    import tempfile

    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    limit = float(os.environ.get("TRITON_TEST_PROCESS_TIMEOUT", 600))
    saved = {name: os.environ.get(name) for name in env or {}}
    os.environ.update(env or {})
    with tempfile.NamedTemporaryFile("r") as said:
        process = context.Process(target=_in_child, args=(call.__module__, call.__qualname__, args, kwargs or {},
                                                          said.name, send))
        try:
            process.start()
        finally:
            for name, value in saved.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
        send.close()
        try:
            if not receive.poll(limit):
                process.kill()
                raise TimeoutError(f"test subprocess {call.__name__} exceeded its {limit}-second timeout")
            failure = receive.recv()
        except EOFError:
            process.join()
            raise RuntimeError(f"child process exited with code {process.exitcode} without returning a result: "
                               f"{said.read()}") from None
        process.join()
        return ProcessResult(failure, said.read())


def unwrap_tensor(t):
    return t.base if isinstance(t, TensorWrapper) else t


@contextlib.contextmanager
def use_process_pool(name):
    yield None


def __getattr__(name):
    if name == "requires_tma":
        return _requires_tma()
    raise AttributeError(name)
