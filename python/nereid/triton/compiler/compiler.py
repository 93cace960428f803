"""What a launch gives back, and compilation without a launch."""
import re
import types

from .. import knobs


def _has_disassembler():
    try:
        return bool(knobs.nvidia.cuobjdump)
    except RuntimeError:
        return False


class AsmDict(dict):
    """`.asm`: what is there at once by key, the rest made when asked for."""

    def __init__(self, handle, make_tile):
        super().__init__(handle.code())
        self._make_tile = make_tile
        if "ptx" in self:
            self["ptx"] = dict.__getitem__(self, "ptx").rstrip(b"\0").decode()

    def __missing__(self, key):
        if key in ("ttir", "tile", "source"):
            self[key] = self._make_tile()
            return self[key]
        if key == "sass" and "cubin" in self and _has_disassembler():
            from ..tools.disasm import get_sass

            self[key] = get_sass(self["cubin"])
            return self[key]
        why = {"ttgir": "layouts are chosen without an IR of their own", "llir": "LLVM's IR is not kept",
               "amdgcn": "there is no AMD back end",
               "sass": "there is no `cubin`, or no `cuobjdump` to disassemble it; `TRITON_CUOBJDUMP_PATH` names one"}.get(key)
        raise KeyError(f"{key}: {why}; there are {', '.join([*self, 'ttir'])}" if why else key)


class CompiledKernel:
    """A kernel for one class of arguments. On a CPU `n_regs` is 32, the vector registers of the processor, `n_spills` 0,
    and `metadata.shared` the bytes of temporary memory that a worker has for a program, at least 1."""

    launch_enter_hook = None
    launch_exit_hook = None

    @classmethod
    def _of(cls, handle, function, options, arguments=None, is_loaded=True):
        import weakref

        from ..runtime.jit import stand_in

        self = cls.__new__(cls)  # no `__init__`: programs replace it by one with the arguments of Triton's
        self._handle, self._options = handle, options
        self._launch_options = {name: value for name, value in options.items() if name not in function.arg_names}
        self._function = weakref.ref(function)  # which holds this
        self._facts = None
        self._arguments = arguments and {name: stand_in(value) for name, value in arguments.items()}
        self._asm = None
        self._src = self._constants = None
        self._name = None
        if function._repr is not None and arguments is not None:
            from ..runtime._hooks import Specialization

            self._name = function._repr(Specialization(function, arguments, options).named())
        if is_loaded:
            function._compiled(self)
            runtime = knobs.runtime
            if runtime.kernel_load_start_hook:
                runtime.kernel_load_start_hook(None, None, self.name, {}, self.hash)
            if runtime.kernel_load_end_hook:
                native = handle.native()
                runtime.kernel_load_end_hook(*(native or (None, handle)), self.name, {}, self.hash)
        return self

    @property
    def facts(self):
        if self._facts is None:
            self._facts = self._handle.facts()
        return self._facts

    @property
    def is_cpu(self):
        return self.facts["target"] == "cpu"

    @property
    def n_regs(self):
        return 32 if self.is_cpu else self.facts["n_regs"]

    @property
    def n_spills(self):
        return 0 if self.is_cpu else self.facts["n_spills"]

    @property
    def n_max_threads(self):
        return 1024

    @property
    def name(self):
        return self._name or self.facts["name"]

    @property
    def hash(self):
        return self.facts["hash"]

    @property
    def function(self):
        """The `CUfunction` as a number, or for other code what stands for it."""
        native = self._handle.native()
        return native[1] if native else self._handle

    @property
    def module(self):
        """The `CUmodule` as a number: by it a host reaches the global variables of bitcode that the kernel was linked with."""
        native = self._handle.native()
        if native is None:
            raise AttributeError("module: code for a CPU has none" if self.is_cpu else
                                 f"module: `{self.name}` was compiled for a target and is not loaded; `warmup` and launches load it")
        return native[0]

    @property
    def asm(self):
        if self._asm is None:
            self._asm = AsmDict(self._handle, self._tile)
        return self._asm

    def _tile(self):
        return self._function()._tile((), {**self._options, **self._arguments})

    @property
    def metadata(self):
        from ..runtime.driver import GPUTarget

        facts = self.facts
        shared = max(facts["shared"], 1) if self.is_cpu else facts["shared"]
        target = GPUTarget("cpu", facts["arch"], 1) if self.is_cpu else GPUTarget(
            "cuda", int("".join(c for c in facts["target"] if c.isdigit())), 32)
        chosen = self._options if self.is_cpu else facts  # a CPU's code has no warps, but programs ask for theirs
        return types.SimpleNamespace(
            **{k: chosen[k] for k in ("num_warps", "num_stages", "num_ctas")},
            **{k: self._options[k] for k in ("launch_pdl", "launch_cooperative_grid")}, name=facts["name"], hash=facts["hash"],
            shared=shared,
            target=target, cluster_dims=(facts["cluster_x"], facts["cluster_y"], facts["cluster_z"]),
            tmem_size=0, global_scratch_size=facts["scratch"], global_scratch_align=128)

    def _init_handles(self):
        """Triton loads lazily; here a kernel is loaded when it exists."""

    @property
    def packed_metadata(self):
        return self.metadata

    @property
    def src(self):
        return self._src or ASTSource(self._function())

    @property
    def _fixed(self):
        """{index: value} of the parameters that are constants of this code: whatever a caller puts in their places is not looked at."""
        if self._constants is None:
            function = self._function()
            known = self._arguments or {}
            constants = {} if self._src is None else self._src.constants
            self._constants = {one.num: constants.get(one.name, known.get(one.name)) for one in function.params if
                               one.name in constants or one.name in known and
                               (one.is_constexpr or known[one.name] is None or type(known[one.name]) is int and known[one.name] == 1
                                and not one.do_not_specialize)}
        return self._constants

    def _with_constants(self, args):
        fixed = self._fixed
        return [fixed.get(index, value) for index, value in enumerate(args)] if fixed else args

    def __getitem__(self, grid):
        """Launches with the options that it was compiled with."""
        launch = self._function()[grid]
        return lambda *args, stream=None, **kwargs: launch(*self._with_constants(args), **self._launch_options, **kwargs)

    def run(self, grid_0, grid_1, grid_2, stream, function, metadata, launch_metadata, enter_hook, exit_hook, *args):
        """As programs call it that launch compiled kernels themselves. The stream is torch's current one, the hooks are
        those of `triton.knobs`, which run either way."""
        return self._function()[grid_0, grid_1, grid_2](*self._with_constants(args), **self._launch_options)

    def launch_metadata(self, grid, stream, *args):
        return None


def _descriptor(name, kind, device):
    """A descriptor of the class that `tensordesc<fp16[64, 32]>` names, without memory."""
    from ..language import str_to_ty
    from ..runtime.jit import MockTensor
    from ..tools.tensor_descriptor import TensorDescriptor

    parts = re.fullmatch(r"tensordesc<(\w+)\[([\d, ]+)\].*>", kind)
    if parts is None:
        raise ValueError(f"the type of `{name}` is not of the form `tensordesc<fp16[64, 32]>`: {kind!r}")
    block = [int(size) for size in parts[2].split(",")]
    base = MockTensor(str_to_ty(parts[1]), shape=[16 * size for size in block], device=device)
    return TensorDescriptor(base, base.shape, list(base.stride()), block)


class ASTSource:
    """A function with the types of its parameters, its constants and what is known of the others: `attrs` maps
    `(index,)` to `[["tt.divisibility", 16]]`."""

    def __init__(self, fn, signature=None, constexprs=None, attrs=None):
        self.fn = fn
        self.signature = dict(signature or {})
        self.constants = {}
        for key, value in (constexprs or {}).items():
            name = fn.arg_names[key if isinstance(key, int) else key[0]] if not isinstance(key, str) else key
            self.constants[name] = value
        self.attrs = attrs or {}
        self.name = fn.__name__

    def hash(self):
        import hashlib

        return hashlib.sha256(repr((self.fn.cache_key, self.signature, self.constants, self.attrs)).encode()).hexdigest()

    def make_arguments(self, device=None):
        """Values of the classes that the source names, for a compilation without a launch. `device` is where their
        memory would be: None is the current device, -1 none in particular."""
        from ..language import str_to_ty
        from ..runtime.jit import MockTensor

        values = {}
        for index, name in enumerate(self.fn.arg_names):
            kind = self.signature.get(name, self.signature.get(index))
            aligned = any(word == "tt.divisibility" for word, _ in self.attrs.get((index, ), ()))
            if name in self.constants or kind == "constexpr":
                values[name] = self.constants.get(name)
            elif isinstance(kind, str) and kind.startswith("*"):
                values[name] = MockTensor(str_to_ty(kind).element_ty, aligned=aligned or not self.attrs, device=device)
            elif isinstance(kind, str) and kind.startswith("tensordesc<"):
                values[name] = _descriptor(name, kind, device)
            elif kind is not None:
                str_to_ty(kind)
                values[name] = 0.5 if kind.startswith(("fp", "bf")) else (
                    (2**33 if kind in ("i64", "u64") else 0) + (16 if aligned else 2))
        return values


def _chip(target):
    """The engine's name for a GPUTarget."""
    if target.backend == "cuda":
        return f"sm_{target.arch}a" if target.arch == 90 else f"sm_{target.arch}"
    if target.backend == "cpu":
        return "cpu"
    raise RuntimeError(f"there is no back end for {target}")


_options_of_code = ("num_warps", "num_stages", "num_ctas", "maxnreg", "debug", "enable_fp_fusion", "enable_reflect_ftz",
                    "launch_pdl", "launch_cooperative_grid", "extern_libs")


def compile(src, target=None, options=None, _env_vars=None):
    """Compiles an ASTSource, for the current device or for a target that need not be here."""
    if not isinstance(src, ASTSource):
        raise TypeError("compile takes an ASTSource: intermediate code of Triton's is not read")
    options = {k: v for k, v in (options or {}).items() if k in _options_of_code}
    if target is None:
        kernel = src.fn.warmup(grid=(1, ), **src.make_arguments(), **options)
    else:
        kernel = src.fn._compile_for(_chip(target), src.make_arguments(device=-1), options)
    kernel._src, kernel._constants = src, None
    return kernel


class IRSource:
    """Compiled files of Triton's, which are not read: nothing is one."""

    def __init__(self, *_, **__):
        raise TypeError("intermediate code of Triton's is not read")


def max_shared_mem(device):
    """Bytes of shared memory that a program may have."""
    from ..runtime.driver import driver

    return driver.active.utils.get_device_properties(device)["max_shared_mem"]


def make_backend(target):
    from ..backends import backends

    for backend in backends.values():
        if backend.compiler.supports_target(target):
            return backend.compiler(target)
    raise RuntimeError(f"there is no back end for {target}")


def triton_key():
    from ..runtime.cache import triton_key

    return triton_key()
