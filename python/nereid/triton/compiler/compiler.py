"""What a launch gives back, and compilation without a launch."""
import types


class _Assembly(dict):
    """`.asm`: what is there at once by key, the rest made when asked for."""

    def __init__(self, handle, make_tile):
        super().__init__(handle.code())
        self._make_tile = make_tile
        if "ptx" in self:
            self["ptx"] = dict.__getitem__(self, "ptx").rstrip(b"\0").decode()

    def __missing__(self, key):
        if key in ("ttir", "tile", "source") and self._make_tile:
            self[key] = self._make_tile()
            return self[key]
        raise KeyError(key)


class CompiledKernel:
    """A kernel for one class of arguments. On a CPU `n_regs` is 32, the vector registers of the processor, `n_spills` 0,
    and `metadata.shared` the bytes of temporary memory that a worker has for a program, at least 1."""

    launch_enter_hook = None
    launch_exit_hook = None

    def __init__(self, handle, function, options):
        import weakref

        self._handle, self._options = handle, options
        self._function = weakref.ref(function)  # which holds this
        self._facts = None
        self._make_tile = None
        self._asm = None

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
        return self.facts["name"]

    @property
    def hash(self):
        return self.facts["hash"]

    @property
    def function(self):
        return self._handle

    @property
    def asm(self):
        if self._asm is None:
            self._asm = _Assembly(self._handle, self._make_tile)
        return self._asm

    @property
    def metadata(self):
        from ..runtime.driver import GPUTarget

        facts = self.facts
        shared = max(facts["shared"], 1) if self.is_cpu else facts["shared"]
        target = GPUTarget("cpu", facts["arch"], 1) if self.is_cpu else GPUTarget(
            "cuda", int("".join(c for c in facts["target"] if c.isdigit())), 32)
        return types.SimpleNamespace(
            **{k: facts[k] for k in ("name", "num_warps", "num_stages", "num_ctas", "hash")}, shared=shared,
            target=target, cluster_dims=(facts["cluster_x"], facts["cluster_y"], facts["cluster_z"]),
            tmem_size=0, global_scratch_size=facts["scratch"], global_scratch_align=128)

    def _init_handles(self):
        """Triton loads lazily; here a kernel is loaded when it exists."""

    @property
    def packed_metadata(self):
        return self.metadata

    def __getitem__(self, grid):
        """Launches with the options that it was compiled with."""
        function = self._function()
        options = {name: value for name, value in self._options.items() if name not in function.arg_names}
        return lambda *args, **kwargs: function.run(*args, grid=grid, warmup=False, **options, **kwargs)

    @property
    def run(self):
        return lambda *args, **kwargs: self[args[:3]](*args[3:], **kwargs)


class ASTSource:
    """A function with the types of its parameters."""

    def __init__(self, fn, signature=None, constexprs=None, attrs=None):
        self.fn = fn
        self.signature = dict(signature or {})
        self.constants = {}
        for key, value in (constexprs or {}).items():
            name = fn.arg_names[key if isinstance(key, int) else key[0]] if not isinstance(key, str) else key
            self.constants[name] = value
        self.attrs = attrs or {}
        self.name = fn.__name__


def compile(src, target=None, options=None, _env_vars=None):
    """Compiles an ASTSource for the current device."""
    from ..runtime.jit import MockTensor
    from ..language import str_to_ty

    arguments = {}
    for index, name in enumerate(src.fn.arg_names):
        kind = src.signature.get(name, src.signature.get(index))
        if name in src.constants or kind == "constexpr":
            arguments[name] = src.constants.get(name)
        elif isinstance(kind, str) and kind.startswith("*"):
            arguments[name] = MockTensor(str_to_ty(kind).element_ty)
        elif kind is not None:
            arguments[name] = 0.5 if kind.startswith(("fp", "bf")) else 2**33 + 2 if kind in ("i64", "u64") else 2
    options = options or {}
    return src.fn.warmup(grid=(1, ), **arguments, **{k: v for k, v in options.items() if k in (
        "num_warps", "num_stages", "num_ctas", "maxnreg", "debug")})


def make_backend(target):
    raise NotImplementedError("Nereid has no Python back ends")
