"""Lets host code that names a GPU run on the CPU, for tests of public packages: wherever torch takes a device, `cuda` is the CPU, and what
is asked of a GPU is answered as an H200 would. Tensors are those of the CPU: their `device` says so, their `is_cuda` does not."""
import contextlib
import functools
import types

import torch
from torch.overrides import TorchFunctionMode
from triton.runtime.driver import CpuDriver


def here(value):
    """A device as it is named, or the CPU where that names a GPU."""
    if isinstance(value, str) and value.split(":")[0] == "cuda":
        return "cpu"
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    return value


class OnCpu(TorchFunctionMode):
    """Every function of torch, with the devices among its arguments replaced."""
    UNMOVED = (torch.Tensor.cuda, )
    MOVES = (torch.Tensor.to, torch.Tensor.type, torch.Tensor.new_tensor, torch._C._nn._parse_to)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self.UNMOVED:
            return args[0]
        if kwargs.get("device") is not None:
            device = kwargs["device"]
            kwargs = {**kwargs, "device": "cpu" if isinstance(device, int) else here(device)}
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        if func in self.MOVES:
            args = tuple("cpu" if type(one) is int else here(one) for one in args)
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func is torch.histc and not args[0].is_floating_point():  # a GPU counts integers
            return func(args[0].double(), *args[1:], **kwargs).to(args[0].dtype)
        return func(*args, **kwargs)


class Context(contextlib.nullcontext):
    """`torch.cuda.device(...)`, `torch.cuda.stream(...)`."""

    def __init__(self, *arguments, **_):
        super().__init__()


class Stream:
    cuda_stream = 0

    def __init__(self, *arguments, **_):
        pass

    def synchronize(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    wait_stream = wait_event = record_event = synchronize


class Properties:
    multi_processor_count, name, major, minor, warp_size = 132, "NVIDIA H200", 9, 0, 32
    total_memory, L2_cache_size, shared_memory_per_block, shared_memory_per_block_optin, gcnArchName = 141 << 30, 50 << 20, 49152, 232448, ""


def answer_for_gpu(is_available):
    """What host code asks of a GPU before it launches. `is_available`: whether there is one."""
    stream = Stream()
    answers = dict(
        device=Context, device_of=Context, stream=Context, Stream=Stream, Event=CpuDriver().get_device_interface().Event, current_stream=lambda *a: stream, default_stream=lambda *a: stream,
        current_device=lambda: 0, device_count=lambda: 1 if is_available else 0, is_available=lambda: is_available,
        get_device_properties=lambda *a: Properties(), get_device_capability=lambda *a: (9, 0), get_device_name=lambda *a: Properties.name,
        manual_seed=lambda seed: torch.default_generator.manual_seed(seed), manual_seed_all=lambda seed: torch.default_generator.manual_seed(seed),
        max_memory_allocated=lambda *a: 0, memory_allocated=lambda *a: 0, memory_reserved=lambda *a: 0,
        mem_get_info=lambda *a: (141 << 30, 141 << 30), is_current_stream_capturing=lambda: False, is_bf16_supported=lambda *a, **k: True,
        get_rng_state=lambda *a: torch.get_rng_state(), set_rng_state=lambda state, *a: torch.set_rng_state(state))
    # A function of its own for each name: torch.compile refuses one that stands for two.
    answers.update((name, lambda *_, **__: None) for name in ("synchronize", "empty_cache", "set_device", "reset_peak_memory_stats"))
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    for name in ("set_device_index", "set_device_idx", "set_stream", "synchronize", "empty_cache", "reset_peak_memory_stats"):
        setattr(torch.accelerator, name, lambda *_, **__: None)
    torch.accelerator.current_device_index = torch.accelerator.current_device_idx = lambda: 0
    torch.accelerator.is_available, torch.accelerator.device_count = answers["is_available"], answers["device_count"]
    torch.accelerator.current_stream = answers["current_stream"]
    for name in ("device", "current_device", "get_device_properties", "get_device_capability", "manual_seed_all", "synchronize", "Event", "device_count"):
        if name != "device_count" or is_available:
            setattr(torch.cpu, name, answers[name])


def install(is_available=True):
    """From here on, for the whole process."""
    answer_for_gpu(is_available)
    OnCpu().__enter__()
    torch.Tensor.is_cuda = property(lambda tensor: True)
    _register_on_cpu()
    real = torch.Generator

    class Generator(real):
        def __new__(cls, device="cpu"):
            return real.__new__(cls, here(device))

    torch.Generator = Generator
    set_default = torch.set_default_device
    torch.set_default_device = lambda device: set_default("cpu" if isinstance(device, int) else here(device))
    autocast = torch.autocast.__init__

    def start(self, device_type, *args, **kwargs):
        autocast(self, here(device_type), *args, **kwargs)

    torch.autocast.__init__ = start
    torch.amp.custom_fwd, torch.amp.custom_bwd = _plain(torch.amp.custom_fwd), _plain(torch.amp.custom_bwd)


def _register_on_cpu():
    """Operators that Python defines for a GPU are the CPU's. What they run sees no mode of its caller: they enter one."""
    register, moved, defined = torch.library.Library.impl, set(), set()

    def impl(self, op_name, fn, dispatch_key="", **kwargs):
        inside = fn
        if isinstance(fn, types.FunctionType):
            @functools.wraps(fn)
            def inside(*args, **kwargs):
                with OnCpu():
                    return fn(*args, **kwargs)

        name = (self.ns, op_name if isinstance(op_name, str) else str(op_name))
        if dispatch_key == "CPU" and name in moved:
            return None  # what stands for a GPU is there already
        if dispatch_key == "CUDA" and name not in defined:
            moved.add(name)
            dispatch_key = "CPU"
        elif dispatch_key == "CPU":
            defined.add(name)
        return register(self, op_name, inside, dispatch_key, **kwargs)

    torch.library.Library.impl = impl


def _plain(decorator):
    """`custom_fwd(fwd, device_type="cuda")` with the device replaced."""
    def replaced(function=None, *, device_type, **kwargs):
        return decorator(function, device_type=here(device_type), **kwargs)

    return replaced
