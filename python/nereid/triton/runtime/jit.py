"""`triton.jit` and what it makes. A launch is one call into the extension, which has the engine; here are the options,
the hooks, and the way from a function to the source units that the engine compiles."""
import atexit
import dataclasses
import functools
import inspect
import os
import sys

from nereid import _C

from .. import knobs
from ..compiler import errors
from ..compiler.compiler import CompiledKernel
from ..language import core
from . import _sources
from ._async_compile import active_mode
from .driver import current_device, current_stream, driver
from .._utils import find_paths_if, get_iterable_path  # noqa: F401  programs import them from here

T = object
TRITON_MODULE = "triton.language"


class KernelInterface:
    """Something that is launched as `kernel[grid](...)`."""

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(grid=grid, warmup=False, *args, **kwargs)

    def warmup(self, *args, grid, **kwargs):
        return self.run(*args, grid=grid, warmup=True, **kwargs)


class KernelParam:
    def __init__(self, num, param, do_not_specialize, do_not_specialize_on_alignment):
        self.num, self._param = num, param
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment

    @property
    def name(self):
        return self._param.name

    @property
    def takes_rest(self):
        """`*name`: a tuple of all further positional arguments."""
        return self._param.kind == inspect.Parameter.VAR_POSITIONAL

    @property
    def annotation(self):
        annotation = self._param.annotation
        if annotation is inspect.Parameter.empty:
            return ""
        return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))

    @property
    def is_constexpr(self):
        return "constexpr" in self.annotation

    @property
    def is_const(self):
        return "const" in self.annotation and not self.is_constexpr

    @property
    def default(self):
        return self._param.default

    @property
    def has_default(self):
        return self._param.default is not inspect.Parameter.empty


class JITCallable:
    """A function that the engine compiles."""


class JITFunction(_C.Function, JITCallable, KernelInterface):
    __getitem__ = _C.Function.__getitem__

    def __new__(cls, *args, **kwargs):
        return super().__new__(cls)

    def __init__(self, fn, version=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None,
                 noinline=None, repr=None, launch_metadata=None):
        self.fn = fn
        self.module = fn.__module__
        self.version = version
        self.do_not_specialize = list(do_not_specialize or [])
        self.do_not_specialize_on_alignment = list(do_not_specialize_on_alignment or [])
        self.debug, self.noinline, self.launch_metadata = debug, noinline, launch_metadata
        self._repr = repr
        self.signature = self.__signature__ = inspect.signature(fn)
        self.params = [
            KernelParam(i, one, i in self.do_not_specialize or one.name in self.do_not_specialize,
                        i in self.do_not_specialize_on_alignment or one.name in self.do_not_specialize_on_alignment)
            for i, one in enumerate(self.signature.parameters.values())
        ]
        self.arg_names = [one.name for one in self.params]
        self.constexprs = [one.num for one in self.params if one.is_constexpr]
        self.pre_run_hooks = []
        self.kernel = None
        source = self._source = _sources.Source(fn)
        self.raw_src, self.starting_line_number, self.file_name = source.lines, source.first_line, source.path
        self.def_file_line_number, self.def_file_col_number = source.line, source.column + 1
        self._text = self._source.text
        self._program = self._closure = None
        self.__doc__, self.__name__, self.__qualname__ = fn.__doc__, fn.__name__, fn.__qualname__
        self.__module__, self.__globals__ = fn.__module__, fn.__globals__
        self._describe(tuple(self.arg_names), {one.name: one.default for one in self.params if one.has_default},
                       fn.__name__, next((one.num for one in self.params if one.takes_rest), -1))
        self._refresh()
        _functions.append(_weak(self))

    # --- what the engine gets ---

    def _decorator(self):
        words = []
        names = [self.params[x].name if isinstance(x, int) else x for x in self.do_not_specialize]
        if names:
            words.append(f"do_not_specialize={names!r}")
        names = [self.params[x].name if isinstance(x, int) else x for x in self.do_not_specialize_on_alignment]
        if names:
            words.append(f"do_not_specialize_on_alignment={names!r}")
        if self.noinline:
            words.append("noinline=True")
        return f"jit({', '.join(words)})" if words else "jit"

    def _add_to(self, closure):
        return closure.function(self.fn, self._decorator(), self._source, self._text)

    def _reach(self):
        if self._closure is None:
            closure = _sources.Closure(bool(knobs.compilation.allow_non_constexpr_globals))
            closure.root = self._add_to(closure)
            self._closure = closure
        return self._closure

    def _make_program(self):
        """Called by the extension at the first launch."""
        for one in self.params:
            if one.is_constexpr and (one.do_not_specialize or one.do_not_specialize_on_alignment):
                raise errors.CompilationError(
                    None, None, f"{one.name} marked as constexpr and listed in do_not_specialize/"
                    "do_not_specialize_on_alignment. Remove constexpr designation to skip specialization.")
        for one in self.signature.parameters.values():
            if one.kind == inspect.Parameter.VAR_KEYWORD:
                raise errors.UnsupportedLanguageConstruct(
                    None, None, f"`{self.__name__}` is launched, and its parameter `{one}` takes any number of "
                    "named arguments: a kernel's parameters are written out, those of functions that it calls need not be")
        knobs.place_cache()
        closure = self._reach()
        self._program, self._brought = _C.Program(closure.plain(), closure.root), []
        self._bind(self._program, closure.guards)

    def _bring(self, values):
        """Gives this kernel's program the sources of functions and objects that are passed as arguments."""
        for value in values:
            value = core._unwrap_if_constexpr(value)
            if isinstance(value, tuple):
                self._bring(value)
                continue
            if isinstance(value, JITFunction):
                closure = value._reach()
            elif found := _sources.described(value):
                closure = found
            else:
                continue
            if self._program is None:
                self._make_program()
            if closure in self._brought:
                continue
            self._program.add(_renamed(closure.plain(), _sources.prefix(closure)))
            self._brought.append(closure)
            if isinstance(value, JITFunction):
                value._refresh()

    def _refresh(self):
        """Tells the extension how launches go."""
        plain = (type(self) is JITFunction and not self.pre_run_hooks and not knobs.runtime.interpret
                 and not knobs.runtime.launch_enter_hook and not knobs.runtime.launch_exit_hook
                 and not knobs.runtime.jit_cache_hook and not knobs.runtime.jit_post_compile_hook
                 and "run" not in self.__dict__ and not self._takes_functions())
        key = "" if self._closure is None else _sources.key(self._closure, self._closure.root, self.fn.__name__)
        self._set(plain, key, bool(self.debug), bool(knobs.runtime.debug), bool(knobs.language.default_fp_fusion))

    def _takes_functions(self):
        return getattr(self, "_saw_functions", True)

    def _global_changed(self, name, value):
        now = self.__globals__.get(name)
        raise RuntimeError(f"Global variable {name} has changed since we compiled this kernel, from {value!r} to {now!r}")

    # --- what programs call ---

    def run(self, *args, grid, warmup, **kwargs):
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        kwargs.pop("launch_metadata", None)
        if not warmup and (launched := self._launch_plain(grid, args, kwargs)) is not NotImplemented:
            return launched
        functions = [x for x in (*args, *kwargs.values())
                     if isinstance(x, (JITFunction, tuple, core.constexpr)) or _sources.is_described(x)]
        if functions:
            self._bring(functions)
        if self._takes_functions() != bool(functions):
            self._saw_functions = bool(functions)
            self._refresh()
        if knobs.runtime.interpret and not warmup:
            return self._run_interpreted(grid, args, kwargs)
        if knobs.runtime.jit_cache_hook or knobs.runtime.jit_post_compile_hook:
            from . import _hooks

            if not _hooks.before_launch(self, args, kwargs, warmup):
                return None
        enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
        hooked = not warmup and (enter or leave)
        if hooked:
            metadata = _LazyMetadata(self, grid, args, kwargs)
            if enter:
                enter(metadata)
        kernel = self._launch(grid, args, kwargs, warmup)
        if hooked and leave:
            leave(metadata)
        return kernel

    def warmup(self, *args, grid, **kwargs):
        args = [MockTensor.wrap_dtype(one) for one in args]
        kwargs = {k: MockTensor.wrap_dtype(v) if k in self.arg_names else v for k, v in kwargs.items()}
        compile = functools.partial(self.run, *args, grid=grid, warmup=True, **kwargs)
        mode = active_mode.get()
        return compile() if mode is None else mode.submit(compile)

    def _run_interpreted(self, grid, args, kwargs):
        from ._interpret import run

        return run(self, grid, args, kwargs)

    def add_pre_run_hook(self, hook):
        self.pre_run_hooks.append(hook)
        self._refresh()

    def preload(self, specialization_data):
        """Compiles for what a compilation hook was given as `specialization_data`."""
        from . import _hooks

        return _hooks.preload(self, specialization_data)

    @property
    def cache_key(self):
        return _sources.digest(self._reach())

    @property
    def hash(self):
        return self.cache_key

    @hash.setter
    def hash(self, _):
        """Triton's programs set it to None where the source has changed."""
        self._forget()

    @property
    def used_global_vals(self):
        """{(name, id of the dict): (value, dict)} of what the kernel read of its surroundings."""
        return {(name, id(names)): (value, names) for names, name, value in self._reach().guards}

    @used_global_vals.setter
    def used_global_vals(self, _):
        self._forget()

    def _forget(self):
        self._closure = self._program = None
        self._bind(None, [])
        self._refresh()

    @functools.cached_property
    def device_caches(self):
        from . import _hooks

        return _hooks.DeviceCaches(self)

    def _compile_for(self, target, arguments, options):
        """The code for a target, without a device."""
        self._bring(arguments.values())
        return self._compile(target, (), {**arguments, **options})

    def _compiled(self, kernel):
        """Called for each kernel that is new."""
        device = -1 if kernel.is_cpu else current_device()  # which would start the GPU's driver
        self.device_caches[device][0][f"{kernel.hash}{kernel._options}"] = kernel

    @property
    def src(self):
        return self._text

    def _unsafe_update_src(self, text):
        """Takes another text for the same function."""
        self._text = text
        self.fn.__nereid_text__ = self._source.text
        self._forget()

    def parse(self):
        import ast

        return ast.parse(self._text)

    def repr(self, specialization=None):
        return self.fn.__name__ if self._repr is None else self._repr(specialization)

    def is_gluon(self):
        return False

    def get_capture_scope(self):
        return self.__globals__ | inspect.getclosurevars(self.fn).nonlocals

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel: on the host it is launched with a grid, as in "
                           f"`{self.__name__}[grid](...)`")

    def __repr__(self):
        return f"JITFunction({self.module}:{self.fn.__qualname__})"

    def __get__(self, instance, owner=None):
        return self

    def __reduce__(self):
        return _find, (self.module, self.__qualname__)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        """As a function's: programs copy modules and configurations that hold kernels."""
        return self


def _find(module, qualname):
    __import__(module)
    item = sys.modules[module]
    for part in qualname.split("."):
        item = getattr(item, part)
    while not isinstance(item, JITFunction) and hasattr(item, "fn"):  # what `autotune` and others made of it
        item = item.fn
    return item


def _renamed(units, prefix):
    """Units under names of their own, so that those of several functions do not meet."""
    names = {unit[0] for unit in units}

    def value(one):
        if one[0] in ("m", "a") and one[1] in names:
            return (one[0], prefix + one[1], *one[2:])
        if one[0] == "x":
            return ("x", value(one[1]))
        if one[0] == "t":
            return ("t", tuple(map(value, one[1])), one[2])
        return one

    return [(prefix + unit[0], *unit[1:5], {k: value(v) for k, v in unit[5].items()}) for unit in units]


_functions = []


def _weak(function):
    import weakref

    return weakref.ref(function)


def _knobs_changed():
    _functions[:] = [one for one in _functions if one() is not None]
    for one in _functions:
        function = one()
        if function is not None:
            function._refresh()


knobs._listeners.append(_knobs_changed)


class _LazyMetadata:
    """What launch hooks get: `.get()` gives a dict."""

    def __init__(self, function, grid, args, kwargs):
        self.function, self.grid, self.args, self.kwargs = function, grid, args, kwargs

    def get(self):
        from types import SimpleNamespace

        found = {"name": self.function.__name__, "function": None, "stream": 0}
        if self.function.launch_metadata:
            kernel = self.function.warmup(*self.args, grid=self.grid, **self.kwargs)
            bound = self.function._bound(self.args, {k: v for k, v in self.kwargs.items()})
            grid = self.grid(bound) if callable(self.grid) else self.grid
            found.update(self.function.launch_metadata(grid, SimpleNamespace(**vars(kernel.metadata)), bound) or {})
        return found


class ConstexprFunction(JITCallable):
    """A plain function that kernels call with values known at compile time."""

    def __init__(self, fn):
        self.fn = fn
        functools.update_wrapper(self, fn)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, _semantic=None, **kwargs):
        args = [core._unwrap_if_constexpr(one) for one in args]
        kwargs = {k: core._unwrap_if_constexpr(v) for k, v in kwargs.items()}
        return self.fn(*args, **kwargs)


def constexpr_function(fn):
    return ConstexprFunction(fn)


def compute_cache_key(kernel_key_cache, specialization, options):
    """The class of arguments that a binder of `device_caches` found, as one value."""
    key = (tuple(specialization), str(options))
    return kernel_key_cache.setdefault(key, f"{specialization}{options}")


def jit(fn=None, *, version=None, repr=None, launch_metadata=None, do_not_specialize=None,
        do_not_specialize_on_alignment=None, debug=None, noinline=None):
    """Makes a kernel of a function."""

    def decorator(fn):
        if not callable(fn) or not hasattr(fn, "__code__"):
            raise TypeError(f"triton.jit decorates a function, not {fn!r}")
        if inspect.iscoroutinefunction(fn):
            raise TypeError(f"triton.jit decorates a function that is not `async`: {fn!r}")
        return JITFunction(fn, version=version, do_not_specialize=do_not_specialize,
                           do_not_specialize_on_alignment=do_not_specialize_on_alignment, debug=debug,
                           noinline=noinline, repr=repr, launch_metadata=launch_metadata)

    return decorator(fn) if fn is not None else decorator


# --- arguments ---


class MockTensor:
    """A tensor without memory, for `warmup`."""

    @staticmethod
    def wrap_dtype(value):
        if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
            return MockTensor(value)
        return value

    def __init__(self, dtype, shape=None, aligned=True, device=None):
        self.dtype, self.shape, self.address, self.device = dtype, shape or [1], 16 if aligned else 1, device

    def stride(self):
        strides = [1]
        for size in self.shape[:0:-1]:
            strides.append(strides[-1] * size)
        return tuple(reversed(strides))

    def data_ptr(self):
        return self.address

    @staticmethod
    def ptr_range():
        return 0


def stand_in(value):
    """A value of the same class that holds no memory."""
    if isinstance(value, tuple):
        each = map(stand_in, value)
        return type(value)(*each) if hasattr(value, "_fields") else tuple(each)
    if hasattr(value, "block_shape") and dataclasses.is_dataclass(value):
        return dataclasses.replace(value, base=stand_in(value.base))
    if isinstance(value, MockTensor) or not (hasattr(value, "data_ptr") or hasattr(value, "__array_interface__")
                                             or hasattr(value, "__dlpack__")):
        return value
    adapted = _adapt(value)
    if type(adapted) is not tuple:
        return adapted
    address, word, device = adapted[:3]
    return MockTensor(core._by_signature[word], aligned=address % 16 == 0, device=device)


class TensorWrapper:
    """A tensor whose memory is taken for elements of another type."""

    def __init__(self, base, dtype):
        self.base, self.dtype = base, dtype
        self.data = base.data if hasattr(base, "data") else base
        self.device, self.shape = getattr(base, "device", None), base.shape

    def data_ptr(self):
        return self.base.data_ptr()

    def stride(self, *args):
        return self.base.stride(*args)

    def element_size(self):
        return self.base.element_size()

    def numel(self):
        return self.base.numel()

    def __str__(self):
        return f"TensorWrapper[{self.dtype}]({self.base})"

    def cpu(self):
        return TensorWrapper(self.base.cpu(), self.dtype)

    def to(self, device):
        return TensorWrapper(self.base.to(device), self.dtype)

    def clone(self):
        return TensorWrapper(self.base.clone(), self.dtype)

    def copy_(self, other):
        self.base.copy_(other.base)

    def new_empty(self, sizes):
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def new_empty_strided(self, sizes, strides):
        return TensorWrapper(self.base.new_empty_strided(sizes, strides), self.dtype)


def reinterpret(tensor, dtype):
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if hasattr(tensor, "data_ptr") or hasattr(tensor, "__array_interface__"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(f"Cannot reinterpret a {type(tensor)}.")


_dtype_words = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32",
    "float64": "fp64", "float8_e5m2": "fp8e5", "float8_e4m3fn": "fp8e4nv", "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2fnuz": "fp8e5b16", "int1": "i1",
}
# The signature's word for a name of torch or of the language.
type_canonicalisation_dict = {
    **{word: word for word in core._by_signature}, **_dtype_words, "void": "void", "float8e5": "fp8e5",
    "float8e4nv": "fp8e4nv", "float8e4b8": "fp8e4b8", "float8e4b15": "fp8e4b15", "float8_e4b15": "fp8e4b15",
    "float": "fp32", "double": "fp64",
}
for _word, _type in core._by_signature.items():
    _dtype_words.setdefault(_type.name, _word)


def dtype_word(dtype):
    """"fp32" for `torch.float32`, `tl.float32`, `numpy.dtype('float32')`."""
    name = getattr(dtype, "name", None) or str(dtype).rpartition(".")[2]
    if name not in _dtype_words:
        raise TypeError(f"elements of type {dtype} cannot be passed to a kernel")
    return _dtype_words[name]


def _device_index(device):
    kind = getattr(device, "type", device)
    if isinstance(kind, str) and kind.startswith("cuda:") and kind[5:].isdigit():
        return int(kind[5:])
    if kind in (None, "cpu"):
        return -1
    if kind == "cuda":
        index = getattr(device, "index", None)
        return current_device() if index is None else index
    raise ValueError(f"Pointer argument cannot be accessed from Triton: a tensor on {device}")


def _adapt(value):
    """An argument that the extension has no path for, as (address, element type, device), with the stream that its framework works in where it says so, or a plain value."""
    if isinstance(value, MockTensor):
        return (value.address, dtype_word(value.dtype), current_device() if value.device is None else value.device)
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        base = value
        while isinstance(base, TensorWrapper):
            base = base.base
        if "sparse" in (layout := str(getattr(base, "layout", ""))):
            raise ValueError(f"Pointer argument cannot be accessed from Triton: a sparse tensor ({layout}); pass `x.to_dense()`, or its "
                             "values and indices as tensors of their own")
        address = value.data_ptr() if hasattr(base, "data_ptr") else base.__array_interface__["data"][0]
        if not address and getattr(value, "is_cpu", False) and value.numel():
            raise ValueError("Pointer argument cannot be accessed from Triton: a tensor without memory, as a FakeTensor is")
        return (address, dtype_word(value.dtype), _device_index(getattr(base, "device", "cpu")))
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        where = value.__dlpack_device__()[1] if hasattr(value, "__dlpack_device__") else max(current_device(), 0)
        found = (interface["data"][0], _typestr(interface["typestr"], value), int(where))
        # 1 and 2 are the default streams of the process and of the thread, for the driver too.
        return found if interface.get("stream") is None else (*found, interface["stream"])
    interface = getattr(value, "__array_interface__", None)
    if interface is not None and getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    if interface is not None:
        return (interface["data"][0], _typestr(interface["typestr"], value), -1)
    if hasattr(value, "__dlpack_device__"):
        return _from_dlpack(value)
    if hasattr(value, "__index__"):
        return value.__index__()
    if hasattr(value, "__float__"):
        return float(value)
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return core._by_signature[dtype_word(value)]
    if isinstance(value, list):
        return tuple(value)
    if found := _sources.described(value):
        return [found.key]
    raise TypeError(f"cannot convert an argument of type {type(value).__module__}.{type(value).__qualname__} for a kernel")


def _typestr(text, value):
    if text[0] == ">":
        raise TypeError("an array in the byte order of another machine cannot be passed to a kernel")
    known = {"f2": "fp16", "f4": "fp32", "f8": "fp64", "b1": "i1"}
    word = text[1:]
    if word in known:
        return known[word]
    if word[0] in "iu" and word[1:] in "1248":
        return word[0] + str(8 * int(word[1:]))
    return dtype_word(getattr(value, "dtype", text))


def _from_dlpack(value):
    if value.__dlpack_device__()[0] == 2:  # on a GPU, ready for work in its default stream
        if found := _C.dlpack(value.__dlpack__(stream=1)):
            return found[:3]
    try:
        import numpy

        array = numpy.from_dlpack(value)
    except (ImportError, TypeError, BufferError):
        import torch

        array = torch.from_dlpack(value)
    return _adapt(array)


def serialize_specialization_data(name, signature, constants, attrs, options, key):
    """What `preload` takes, as JSON."""
    from . import _hooks

    return _hooks.serialized(name, signature, constants, attrs, options, key)


def get_device_key():
    """What a device's kernels are kept by."""
    target = driver.active.get_current_target()
    return f"{target.backend}:{driver.active.get_current_device()}"


def get_full_name(fn):
    return f"{fn.__module__}.{fn.__qualname__}"


def get_jit_fn_file_line(fn):
    """(file, line) of a kernel's `def`."""
    while not isinstance(fn, JITCallable) and hasattr(fn, "fn"):
        fn = fn.fn
    return fn.file_name, fn.def_file_line_number


def mangle_type(value, specialize=False):
    """The signature's word for a value."""
    from . import _hooks

    return _hooks.specialize(value, specialize_value=specialize)[0]


def __getattr__(name):
    if name == "JitFunctionInfo":
        from ._hooks import JitFunctionInfo

        return JitFunctionInfo
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _descriptor_type():
    from ..tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor


_C.register(constexpr=core.constexpr, dtype=core.dtype, descriptor=_descriptor_type(), builtin=core.builtin, adapt=_adapt,
            failure=errors.make, handle=CompiledKernel._of, current_device=current_device, current_stream=current_stream)
atexit.register(_C.finish)
# What a thread in the engine holds, a forked process would wait for for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_C.before_fork, after_in_parent=functools.partial(_C.after_fork, False),
                        after_in_child=functools.partial(_C.after_fork, True))
