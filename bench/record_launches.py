#!/usr/bin/env python3
"""Runs a program without a GPU and writes down each kind of launch that it makes, with the code that the compiler at hand makes of it.

    [python -m nereid] bench/record_launches.py --out OUT [--chip 90] [--configs 2] [--item 64] [--launches 1000] [--limit 300] [--on-gpu]
                       [--tensors none|cpu] PROGRAM.py|-c CODE|-m MODULE|LIST.json arguments...

Tensors of the GPU, an H100 by its properties, are without memory: they have a shape, strides, a type and an address. No kernel runs. What a host program reads
out of one (`item`, `tolist`, `if`) is true, 1.0 or --item. A tuned kernel is compiled in its first --configs configurations that its own rules leave. With
`--tensors cpu` all lie in memory, for small programs that ask for shapes which depend on contents. OUT/launches.json has a line a launch: `key`, `file`,
`kernel`, `signature`, `options`, `grid`, and `ptx`, a file beside it, or `error`. Of a list of programs, as of `bench/programs.py`, each has a folder in OUT by
its number. `bench/code_beside.py` runs this under both compilers.
"""
import argparse
import contextlib
import dataclasses
import hashlib
import inspect
import json
import os
import pathlib
import runpy
import signal
import sys
import traceback

import torch
import triton
import triton.language as tl
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction, KernelInterface
from torch.overrides import TorchFunctionMode

IS_NEREID = hasattr(JITFunction, "_compile_for")
WORDS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
         "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
         "bool": "i1", "float8_e4m3fn": "fp8e4nv", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2": "fp8e5", "float8_e8m0fnu": "u8", "float4_e2m1fn_x2": "u8"}


class Enough(BaseException):
    """As many launches as were wanted."""


class Properties:
    multi_processor_count, name, major, minor, warp_size, gcnArchName = 132, "NVIDIA H100 80GB HBM3", 9, 0, 32, ""
    total_memory, L2_cache_size, shared_memory_per_block, shared_memory_per_block_optin, shared_memory_per_multiprocessor = 80 << 30, 50 << 20, 49152, 232448, 233472
    max_threads_per_multi_processor, regs_per_multiprocessor = 2048, 65536


class Nothing(contextlib.nullcontext):
    """Streams, events, contexts of a device: of no effect."""
    cuda_stream = stream_id = 0

    def __init__(self, *_, **__):
        super().__init__()

    def __call__(self, function):
        return function

    def elapsed_time(self, _):
        return 1.0

    def query(self):
        return True

    def record(self, *_, **__):
        pass

    synchronize = wait = wait_stream = wait_event = record_event = record


class Driver:
    """The device of which Triton asks before it compiles."""

    class utils:
        @staticmethod
        def get_device_properties(_=0):
            return dict(max_shared_mem=232448, multiprocessor_count=132, warpSize=32, max_num_regs=65536, sm_clock_rate=1980000, mem_clock_rate=2619000, mem_bus_width=5120)

    def __init__(self, chip):
        from triton.backends.compiler import GPUTarget

        self.target = GPUTarget("cuda", chip, 32)

    get_current_device = get_current_stream = lambda self, *_: 0

    def get_current_target(self):
        return self.target

    def get_device_interface(self):
        return torch.cuda

    def get_active_torch_device(self):
        return torch.device("cuda", 0)

    def get_benchmarker(self):
        return once

    def get_device_capability(self, *_):
        return 9, 0

    set_current_device = clear_cache = get_empty_cache_for_benchmark = lambda self, *_: None


def once(function, *_, quantiles=None, **__):
    function()
    return [1.0] * len(quantiles) if quantiles else 1.0


# --- a GPU that is not there ---------------------------------------------------------------------------

def stand_in_for_gpu(chip):
    answers = dict(is_available=lambda: True, device_count=lambda: 1, current_device=lambda: 0, is_initialized=lambda: True, get_device_properties=lambda *_: Properties,
                   get_device_capability=lambda *_: (9, 0),
                   get_device_name=lambda *_: Properties.name, current_stream=lambda *_: Nothing(), default_stream=lambda *_: Nothing(), is_current_stream_capturing=lambda: False,
                   is_bf16_supported=lambda *_, **__: True, mem_get_info=lambda *_: (80 << 30, 80 << 30), device=Nothing, device_of=Nothing,
                   stream=Nothing, Stream=Nothing, Event=Nothing)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved"):
        answers[name] = lambda *_: 0
    for name in ("_lazy_init", "synchronize", "empty_cache", "set_device", "set_stream", "manual_seed", "manual_seed_all", "reset_peak_memory_stats"):
        answers[name] = lambda *_, **__: None
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    for name in ("is_available", "device_count", "synchronize", "current_stream"):
        setattr(torch.accelerator, name, answers[name])
    torch.accelerator.current_device_index = torch.accelerator.current_device_idx = lambda: 0
    torch.accelerator.current_accelerator = lambda *_, **__: torch.device("cuda")
    torch.manual_seed = lambda *_: None
    torch.compile = lambda f=None, *_, **__: f if callable(f) else lambda g: g
    triton.runtime.driver.set_active(Driver(chip))
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = once


class OnNothing(TorchFunctionMode):
    """Every function of torch, with a GPU among its arguments replaced by the device `meta`, whose tensors have no memory. The program sees a GPU, torch's own code does not."""

    def __init__(self):
        super().__init__()
        self.depth = 0

    @staticmethod
    def here(value):
        is_gpu = isinstance(value, str) and value.split(":")[0] == "cuda" or isinstance(value, torch.device) and value.type == "cuda"
        return "meta" if is_gpu else value

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = {name: value for name, value in (kwargs or {}).items() if name not in ("pin_memory", "generator")}
        if kwargs.get("device") is not None:
            kwargs["device"] = "meta" if isinstance(kwargs["device"], int) else self.here(kwargs["device"])
        if func in (torch.Tensor.to, torch.Tensor.type, torch.Tensor.new_tensor, torch._C._nn._parse_to):
            args = tuple("meta" if type(one) is int else self.here(one) for one in args)
        self.depth += 1
        try:
            return func(*args, **kwargs)
        finally:
            self.depth -= 1


def enter_in_backward(mode):
    """Gradients that the program defines are called by torch's own code."""
    original = torch.autograd.function.BackwardCFunction.apply

    def apply(self, *args):
        depth, mode.depth = mode.depth, 0
        try:
            with mode:
                return original(self, *args)
        finally:
            mode.depth = depth

    torch.autograd.function.BackwardCFunction.apply = apply


def stand_in_for_memory(mode, item):
    """What a program asks of tensors without memory: where they are, and what they hold."""
    Tensor, real = torch.Tensor, torch._C.TensorBase.device.__get__
    gpu = torch.device("cuda", 0)

    def is_there(tensor):
        return real(tensor).type == "meta"

    def one(tensor):
        return True if tensor.dtype == torch.bool else item if not tensor.dtype.is_floating_point else 1.0

    def many(tensor):
        return [many(tensor[at]) for at in range(len(tensor))] if tensor.dim() else one(tensor)

    def answer(name, instead):
        original = getattr(Tensor, name)
        setattr(Tensor, name, lambda self, *args, **kwargs: instead(self) if is_there(self) else original(self, *args, **kwargs))

    Tensor.device = property(lambda self: gpu if not mode.depth and is_there(self) else real(self))
    Tensor.is_cuda, Tensor.is_cpu, Tensor.is_meta = property(is_there), property(lambda self: not is_there(self)), property(lambda self: bool(mode.depth) and is_there(self))
    Tensor.get_device = lambda self: 0 if is_there(self) else -1
    for name, instead in dict(item=one, tolist=many, __bool__=lambda self: True, record_stream=lambda self: None, pin_memory=lambda self: self, __int__=lambda self: int(one(self)),
                              __index__=lambda self: int(one(self)), __float__=lambda self: float(one(self)),
                              data_ptr=lambda self: (1 << 20) + self.storage_offset() * self.element_size(), cpu=lambda self: torch.full(self.shape, one(self), dtype=self.dtype),
                              numpy=lambda self: torch.full(self.shape, one(self), dtype=self.dtype).numpy()).items():
        answer(name, instead)
    Tensor.cuda = lambda self, *_, **__: self.to("meta")
    torch.nn.Module.cuda = lambda self, *_: self.to("meta")
    torch.equal = torch.allclose = lambda *_, **__: True
    torch.testing.assert_close = lambda *_, **__: None
    default, generator = torch.set_default_device, torch.Generator
    torch.set_default_device = lambda device: default(mode.here(device))

    class Generator(generator):
        def __new__(cls, device="cpu"):
            return generator.__new__(cls)

    torch.Generator = Generator


def call_operators_directly():
    """Operators that a program defines: those for a GPU are called for `meta` too, and those by decorator are their functions."""
    register = torch.library.Library.impl

    def impl(self, name, function, key="", **kwargs):
        return register(self, name, function, {"CUDA": "Meta", "Meta": "CUDA"}.get(key, key), **kwargs)

    def operator(_, function=None, /, **__):
        def made(function):
            for name in ("register_fake", "register_kernel", "register_autograd", "register_vmap", "impl_abstract"):
                setattr(function, name, lambda *args, **_: args[-1] if args and callable(args[-1]) else lambda f: f)
            return function

        return made if function is None else made(function)

    torch.library.Library.impl = impl
    torch.library.custom_op = torch.library.triton_op = operator
    torch.library.wrap_triton = lambda kernel: kernel


@contextlib.contextmanager
def tensors(kind, item):
    if kind == "cpu":
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
        import cuda_means_cpu

        torch.Tensor.is_cuda = property(lambda tensor: True)
        with cuda_means_cpu.OnCpu():
            yield
        return
    mode = OnNothing()
    stand_in_for_memory(mode, item)
    enter_in_backward(mode)
    call_operators_directly()
    with mode:
        yield


# --- a launch ------------------------------------------------------------------------------------------

def dtype_word(dtype):
    name = str(dtype).rpartition(".")[2]
    return WORDS.get(name, name)


class Memory:
    """What a compiler asks of a tensor."""

    def __init__(self, tensor):
        self.dtype, self.shape, self.address, self.device = tensor.dtype, list(getattr(tensor, "shape", [1])), tensor.data_ptr(), -1
        self._stride = tensor.stride() if hasattr(tensor, "stride") else (1, ) * len(self.shape)

    def stride(self, *which):
        return self._stride[which[0]] if which else self._stride

    def data_ptr(self):
        return self.address

    @staticmethod
    def ptr_range():
        return 0


def is_memory(value):
    """A tensor, or what a program passes for one."""
    return isinstance(value, torch.Tensor) or hasattr(value, "data_ptr") and hasattr(value, "dtype")


def without_memory(value):
    if type(value).__name__ != "TensorWrapper" and is_memory(value):
        if not IS_NEREID:
            return Memory(value)
        from triton.runtime.jit import MockTensor

        mock = MockTensor(value.dtype, list(getattr(value, "shape", [1])), device=-1)
        mock.address = value.data_ptr() % 4096 + 4096
        return mock
    if type(value).__name__ == "TensorWrapper":
        return type(value)(without_memory(value.base), value.dtype) if not IS_NEREID else value
    if isinstance(value, tuple):
        each = [without_memory(one) for one in value]
        return type(value)(*each) if hasattr(value, "_fields") else tuple(each)
    if hasattr(value, "block_shape") and dataclasses.is_dataclass(value):
        return dataclasses.replace(value, base=without_memory(value.base))
    return value


def word(value, is_constant=False, specialize=True, align=True):
    """As `nereid compile --signature` takes it."""
    if isinstance(value, tl.constexpr):
        return word(value.value, True)
    if isinstance(value, tl.dtype):
        return f"tl.{ {'fp32': 'float32', 'fp16': 'float16', 'bf16': 'bfloat16', 'fp64': 'float64'}.get(value.name, value.name)}"
    if isinstance(value, tuple):
        return "(" + ", ".join(word(one, is_constant, specialize, align) for one in value) + ("," if len(value) == 1 else "") + ")"
    if is_constant or value is None or isinstance(value, str):
        return getattr(value, "__name__", None) or repr(value)
    if is_memory(value):
        return f"*{dtype_word(value.dtype)}" + (":16" if align and value.data_ptr() % 16 == 0 else "")
    if hasattr(value, "block_shape"):
        return f"tensordesc<{dtype_word(value.base.dtype)}{list(value.block_shape)}>"
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        kind = "i32" if -2**31 <= value < 2**31 else "i64" if value < 2**63 else "u64"
        return "1" if specialize and value == 1 else kind + (":16" if specialize and align and value % 16 == 0 else "")
    return "fp32" if isinstance(value, float) else f"<{type(value).__name__}>"


class Recorder:
    def __init__(self, options, out):
        self.options, self.seen, self.out = options, set(), out
        self.out.mkdir(parents=True, exist_ok=True)
        self.lines = (self.out / "launches.json").open("w")

    def ptx_of(self, function, arguments, settings, grid):
        bare = {name: without_memory(value) for name, value in arguments.items()}
        if IS_NEREID:
            return function._compile_for(f"sm_{self.options.chip}" + "a" * (self.options.chip == 90), bare, settings).asm["ptx"]
        rest = [x.name for x in function.signature.parameters.values() if x.kind is inspect.Parameter.VAR_POSITIONAL]
        made = ORIGINAL(function, *(one for name in rest for one in bare.pop(name)), grid=grid, warmup=True, **bare, **settings)
        return made.asm["ptx"]

    def launch(self, function, args, grid, kwargs):
        names = set(function.arg_names)
        settings = {name: value for name, value in kwargs.items() if name not in names}
        settings.pop("warmup", None)
        bound = inspect.signature(function.fn).bind(*args, **{name: value for name, value in kwargs.items() if name in names})
        bound.apply_defaults()
        words = [word(bound.arguments[x.name], x.is_constexpr, not x.do_not_specialize, not x.do_not_specialize_on_alignment) for x in function.params]
        told = {name: value for name, value in settings.items() if isinstance(value, (int, str)) and name in ("num_warps", "num_stages", "num_ctas", "maxnreg")}
        file = inspect.getsourcefile(function.fn) or ""
        # By the kernel's text: files that a program writes are named otherwise in each process.
        key = hashlib.sha256(json.dumps([inspect.getsource(function.fn), function.fn.__qualname__, words, told]).encode()).hexdigest()[:16]
        if key in self.seen:
            return
        if len(self.seen) >= self.options.launches:
            raise Enough
        self.seen.add(key)
        row = dict(key=key, file=file, kernel=function.fn.__qualname__, signature=", ".join(words), options=told)
        with contextlib.suppress(Exception):
            row["grid"] = [int(size) for size in (grid(dict(bound.arguments)) if callable(grid) else grid)]
        try:
            ptx = self.ptx_of(function, dict(bound.arguments), settings, (1, ))
            row["ptx"] = f"{key}.ptx"
            (self.out / row["ptx"]).write_text(ptx)
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}".strip()[:600]
        self.lines.write(json.dumps(row) + "\n")
        self.lines.flush()


ORIGINAL = JITFunction.run


def patch(recorder, configs):
    def run(self, *args, grid=None, **kwargs):
        recorder.launch(self, args, grid, kwargs)

    def tuned(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        try:
            chosen = self.prune_configs(kwargs)
        except Exception:
            chosen = self.configs
        for config in list(chosen)[:configs]:
            if config.pre_hook is not None:
                with contextlib.suppress(Exception):
                    config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
            self.fn.run(*args, **{**kwargs, **config.all_kwargs()})

    JITFunction.run, Autotuner.run = run, tuned
    for one in (KernelInterface, JITFunction, Autotuner, Heuristics):
        one.__getitem__ = lambda self, grid: lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)


def perform(program, out, options):
    """Runs a program, the words behind the recorder's own; its launches go to the folder `out`."""
    patch(Recorder(options, out), options.configs)
    sys.argv = program[:1] if program[0] == "-c" else program[1:] if program[0] == "-m" else program
    sys.argv += program[2:] if program[0] == "-c" else []
    with tensors(options.tensors, options.item), contextlib.suppress(Enough):
        if options.on_gpu and options.tensors == "none":
            torch.set_default_device("cuda")
        if program[0] == "-c":  # by a file: a kernel needs its source
            (out / "program.py").write_text(program[1])
            runpy.run_path(str(out / "program.py"), run_name="__main__")
        elif program[0] == "-m":
            runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(program[0]))
            runpy.run_path(program[0], run_name="__main__")


def perform_apart(program, out, options):
    """The same for a program of a list, in a child that has what is imported here; what it said is in `said.txt`."""
    out.mkdir(parents=True, exist_ok=True)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    said = os.open(out / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    signal.signal(signal.SIGALRM, late)
    signal.alarm(options.limit)
    sys.path[:0] = program.get("path", [])
    ends = 0
    try:
        perform(program["argv"] if "argv" in program else ["-c", program["code"]], out, options)
    except BaseException as error:
        traceback.print_exc()
        ends = 0 if isinstance(error, SystemExit) and not error.code else 1
    print(f"\nends with {ends}", flush=True)
    os._exit(ends)


def late(*_):
    raise TimeoutError("the program takes longer than --limit")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--chip", type=int, default=90)
    parser.add_argument("--configs", type=int, default=2)
    parser.add_argument("--item", type=int, default=64)
    parser.add_argument("--launches", type=int, default=1000)
    parser.add_argument("--limit", type=int, default=300, help="seconds of each program of a list")
    parser.add_argument("--tensors", choices=["none", "cpu"], default="none")
    parser.add_argument("--on-gpu", action="store_true", help="tensors are the GPU's unless the program says otherwise")
    # The program starts at the first word that is not the recorder's.
    words, at = sys.argv[1:], 0
    while at < len(words) and words[at].startswith("--"):
        at += 1 if words[at] == "--on-gpu" or "=" in words[at] else 2
    options, program = parser.parse_args(words[:at]), words[at:]
    if len(program) < 1 + (program[:1] in (["-c"], ["-m"])):
        parser.error("there is no program")
    stand_in_for_gpu(options.chip)
    if program[0].endswith(".json"):
        for number, one in enumerate(json.loads(pathlib.Path(program[0]).read_text())):
            perform_apart(one, options.out / str(number), options)
    else:
        perform(program, options.out, options)


if __name__ == "__main__":
    main()
