"""Settings that programs read and write: what the program has set, else what the environment says at the time. Those that mean something
here: `runtime.interpret`, `runtime.debug`, the hooks of `runtime`, `autotuning.print`, `autotuning.cache`, `autotuning.listener`,
`cache.dir` and its managers, `language.default_fp_fusion`, `compilation.allow_non_constexpr_globals`, `nvidia.nvdisasm` and `nvidia.cuobjdump`.
The others hold what is written; names that are not listed are None."""
import contextlib
import dataclasses
import functools
import importlib
import os
import re
import shutil
import subprocess
import sys


class Env:
    """`group.name = env` forgets what the program has set."""


env = Env()
propagate_env = True  # settings go into the environment too, for processes that the program starts

_listeners = []


def _changed():
    for listener in _listeners:
        listener()


def setenv(key, value):
    if not propagate_env:
        return
    if value is None:
        os.environ.pop(key, None)
    else:
        os.environ[key] = value


def toenv(value):
    """(a value as the environment has it,), or None where it has no such form."""
    if value is None:
        return (None, )
    if type(value) in (bool, int, str):
        return (str(int(value)) if type(value) is bool else str(value), )
    return None


def _truth(text, default):
    return default if text is None else text.lower() in ("1", "true", "on", "y", "yes")


class env_base:
    """A setting that the variable `key` decides until the program does."""

    def __init__(self, key):
        self.key = key

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, group, owner=None):
        if group is None:
            return self
        if self.name in group.__dict__:
            return self.transform(group.__dict__[self.name])
        return self.get()

    def __set__(self, group, value):
        if isinstance(value, Env):
            return self.__delete__(group)
        group.__dict__[self.name] = value
        if (text := toenv(value)) is not None:
            setenv(self.key, text[0])
        _changed()

    def __delete__(self, group):
        group.__dict__.pop(self.name, None)
        _changed()

    def transform(self, value):
        return value

    def get(self):
        raise NotImplementedError


class env_str(env_base):
    def __init__(self, key, default):
        super().__init__(key)
        self.default = default

    def get(self):
        return os.environ.get(self.key, self.default)


class env_str_callable_default(env_base):
    def __init__(self, key, default_factory):
        super().__init__(key)
        self.default_factory = default_factory

    def get(self):
        return os.environ[self.key] if self.key in os.environ else self.default_factory()


class env_bool(env_base):
    def __init__(self, key, default=False):
        super().__init__(key)
        self.default = default

    def get(self):
        return _truth(os.environ.get(self.key), self.default)


class env_int(env_base):
    def __init__(self, key, default=0):
        super().__init__(key)
        self.default = default

    def get(self):
        text = os.environ.get(self.key)
        try:
            return self.default if text is None else int(text)
        except ValueError:
            raise RuntimeError(f"Unable to use {self.key}={text}: expected int") from None


class env_opt_str(env_base):
    def get(self):
        return os.environ.get(self.key)


class env_opt_bool(env_base):
    def get(self):
        return _truth(os.environ.get(self.key), None)


class env_class(env_base):
    """`MODULE:CLASS`, of a class that derives from one named `type`."""

    def __init__(self, key, type):
        super().__init__(key)
        self.type = type

    def get(self):
        text = os.environ.get(self.key)
        if text is None:
            return None
        module, colon, name = text.partition(":")
        if not colon:
            raise RuntimeError(f"Unable to read {self.key}: '{text}' isn't of the form MODULE:CLASS")
        found = getattr(importlib.import_module(module), name)
        if all(base.__name__ != self.type for base in found.__mro__):
            raise RuntimeError(f"Unable to use '{text}' from {self.key}: not of type '{self.type}'")
        return found


@dataclasses.dataclass
class NvidiaTool:
    path: str
    version: str

    @staticmethod
    @functools.lru_cache
    def from_path(path):
        """None where there is no such program."""
        try:
            said = subprocess.check_output([path, "--version"], stderr=subprocess.STDOUT, text=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        found = re.search(r"release (\d+\.\d+)", said)
        return NvidiaTool(path, found[1]) if found else None


class env_nvidia_tool(env_base):
    """A program of the CUDA toolkit: named, on the path, of an installed toolkit, or of an installed Triton."""

    def __init__(self, binary):
        self.binary = binary
        super().__init__(f"TRITON_{binary.upper().replace('-', '_')}_PATH")

    def get(self):
        return self.transform(os.environ.get(self.key))

    def transform(self, path):
        places = [path, shutil.which(self.binary), f"/usr/local/cuda/bin/{self.binary}",
                  *(os.path.join(folder, "triton/backends/nvidia/bin", self.binary) for folder in sys.path)]
        for place in places:
            if place and (tool := NvidiaTool.from_path(place)):
                return tool
        raise RuntimeError(f"Cannot find {self.binary}")


@dataclasses.dataclass(frozen=True)
class CompileTimes:
    """Microseconds of a compilation's parts, as listeners of other back ends get them."""
    ir_initialization: int
    lowering_stages: list
    store_results: int

    @property
    def total_lowering(self):
        return sum(time for _, time in self.lowering_stages)

    @property
    def total(self):
        return self.ir_initialization + self.total_lowering + self.store_results


class HookChain:
    """Callables that are run one after another, or the last that was added first."""

    def __init__(self, reversed=False):
        self.calls = []
        self.reversed = reversed

    def add(self, call):
        if call not in self.calls:
            self.calls.append(call)
        _changed()

    def remove(self, call):
        if call in self.calls:
            self.calls.remove(call)
        _changed()

    def __call__(self, *args, **kwargs):
        for call in self.calls[::-1] if self.reversed else list(self.calls):
            call(*args, **kwargs)

    def __bool__(self):
        return bool(self.calls)


class base_knobs:
    """A group of settings."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        _changed()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    @property
    def knob_descriptors(self):
        return {name: value for name, value in type(self).__dict__.items() if isinstance(value, env_base)}

    @property
    def knobs(self):
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self):
        other = type(self)()
        other.__dict__.update(self.__dict__)
        return other

    def reset(self):
        for name in self.knob_descriptors:
            self.__dict__.pop(name, None)
        _changed()
        return self

    @contextlib.contextmanager
    def scope(self):
        """What is set within ends with it, in the environment too."""
        keys = [one.key for one in self.knob_descriptors.values()]
        outside, values = {key: os.environ.get(key) for key in keys}, dict(self.__dict__)
        try:
            yield self
        finally:
            self.__dict__.clear()
            self.__dict__.update(values)
            for key, value in outside.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value
            _changed()


class build_knobs(base_knobs):
    cc = env_opt_str("CC")
    cudacrt_path = env_opt_str("TRITON_CUDACRT_PATH")
    cudart_path = env_opt_str("TRITON_CUDART_PATH")
    impl = None

    @property
    def backend_dirs(self):
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class redis_knobs(base_knobs):
    key_format = env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}")
    host = env_str("TRITON_REDIS_HOST", "localhost")
    port = env_int("TRITON_REDIS_PORT", 6379)


class cache_knobs(base_knobs):
    home_dir = env_str("TRITON_HOME", os.path.expanduser("~/"))
    dump_dir = env_str_callable_default("TRITON_DUMP_DIR", lambda: cache.get_triton_dir("dump"))
    override_dir = env_str_callable_default("TRITON_OVERRIDE_DIR", lambda: cache.get_triton_dir("override"))
    dir = env_str_callable_default("TRITON_CACHE_DIR", lambda: cache.get_triton_dir("cache"))
    manager_class = env_class("TRITON_CACHE_MANAGER", "CacheManager")
    remote_manager_class = env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend")

    def get_triton_dir(self, dirname):
        return os.path.join(self.home_dir, ".triton", dirname)


class compilation_knobs(base_knobs):
    override = env_bool("TRITON_KERNEL_OVERRIDE")
    dump_ir = env_bool("TRITON_KERNEL_DUMP")
    dump_ir_extract_di_local_variables = env_bool("LLVM_EXTRACT_DI_LOCAL_VARIABLES")
    store_binary_only = env_bool("TRITON_STORE_BINARY_ONLY")
    always_compile = env_bool("TRITON_ALWAYS_COMPILE")
    use_ir_loc = env_opt_str("USE_IR_LOC")
    enable_asan = env_bool("TRITON_ENABLE_ASAN")
    disable_line_info = env_bool("TRITON_DISABLE_LINE_INFO")
    front_end_debugging = env_bool("TRITON_FRONT_END_DEBUGGING")
    allow_non_constexpr_globals = env_bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    instrumentation_mode = ""
    listener = None


class autotuning_knobs(base_knobs):
    cache = env_bool("TRITON_CACHE_AUTOTUNING")
    print = env_bool("TRITON_PRINT_AUTOTUNING")
    listener = None


class runtime_knobs(base_knobs):
    interpret = env_bool("TRITON_INTERPRET")
    debug = _truth(os.environ.get("TRITON_DEBUG"), False)  # `refresh_knobs` reads it again, as in Triton
    override_arch = env_opt_str("TRITON_OVERRIDE_ARCH")
    launch_enter_hook = HookChain()
    launch_exit_hook = HookChain(reversed=True)
    kernel_load_start_hook = HookChain()
    kernel_load_end_hook = HookChain(reversed=True)
    jit_cache_hook = None
    jit_post_compile_hook = None
    add_stages_inspection_hook = None
    sanitize_overflow = True


class language_knobs(base_knobs):
    fp32_default = env_opt_str("TRITON_F32_DEFAULT")
    default_fp_fusion = env_bool("TRITON_DEFAULT_FP_FUSION", True)
    strict_reduction_ordering = False


class nvidia_knobs(base_knobs):
    cuobjdump = env_nvidia_tool("cuobjdump")
    nvdisasm = env_nvidia_tool("nvdisasm")
    ptxas = env_nvidia_tool("ptxas")
    ptxas_blackwell = env_nvidia_tool("ptxas-blackwell")
    dump_nvptx = env_bool("NVPTX_ENABLE_DUMP")
    disable_ptxas_opt = env_bool("DISABLE_PTXAS_OPT")
    ptxas_options = env_opt_str("PTXAS_OPTIONS")
    mock_ptx_version = env_opt_str("TRITON_MOCK_PTX_VERSION")
    dump_ptxas_log = env_bool("TRITON_DUMP_PTXAS_LOG")
    libdevice_path = env_opt_str("TRITON_LIBDEVICE_PATH")
    libcuda_path = env_opt_str("TRITON_LIBCUDA_PATH")


class amd_knobs(base_knobs):
    use_buffer_ops = env_bool("AMDGCN_USE_BUFFER_OPS", True)
    use_buffer_atomics = env_bool("AMDGCN_USE_BUFFER_ATOMICS", True)
    buffer_ops_analyze_small_tensor_range = env_bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE")
    dump_amdgcn = env_bool("AMDGCN_ENABLE_DUMP")
    libhip_path = env_opt_str("TRITON_LIBHIP_PATH")
    use_block_pingpong = env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG")
    use_in_thread_transpose = env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE")
    use_async_copy = env_bool("TRITON_HIP_USE_ASYNC_COPY")
    scalarize_packed_fops = env_bool("AMDGCN_SCALARIZE_PACKED_FOPS")


class proton_knobs(base_knobs):
    disable = env_bool("TRITON_PROTON_DISABLE")
    enable_nvtx = env_bool("TRITON_ENABLE_NVTX", True)


build, redis, cache, compilation, autotuning = build_knobs(), redis_knobs(), cache_knobs(), compilation_knobs(), autotuning_knobs()
runtime, language, nvidia, amd, proton = runtime_knobs(), language_knobs(), nvidia_knobs(), amd_knobs(), proton_knobs()


def refresh_knobs():
    """Reads again what is read once."""
    runtime.debug = _truth(os.environ.get("TRITON_DEBUG"), False)
    compilation.instrumentation_mode = os.environ.get("TRITON_INSTRUMENTATION_MODE", "")


def place_cache():
    """Compiled kernels are kept below the folder that the program or its environment names, unless the engine was told of another."""
    if cache.dir != cache.get_triton_dir("cache"):
        os.environ.setdefault("NEREID_CACHE_DIR", os.path.join(cache.dir, "nereid"))


if os.environ.get("TRITON_CACHE_DIR"):
    place_cache()
