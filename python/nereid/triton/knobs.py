"""Settings that programs read and write. Those that mean something here: `runtime.interpret`, `runtime.debug`,
`runtime.launch_enter_hook`, `runtime.launch_exit_hook`, `autotuning.print`, `autotuning.cache`, `cache.dir`,
`language.default_fp_fusion` and `compilation.always_compile`. The others hold what is written."""
import contextlib
import os


def _flag(name, default=False):
    return os.environ.get(name, "1" if default else "0").lower() in ("1", "true", "on", "y", "yes")


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


_listeners = []


def _changed():
    for listener in _listeners:
        listener()


class _Group:
    def __init__(self, **values):
        self.__dict__.update(values)
        self.__dict__["_defaults"] = dict(values)

    def __setattr__(self, name, value):
        self.__dict__[name] = value
        _changed()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def copy(self):
        return _Group(**{k: v for k, v in self.__dict__.items() if k != "_defaults"})

    def reset(self):
        self.__dict__.update(self._defaults)
        _changed()

    @contextlib.contextmanager
    def scope(self):
        saved = dict(self.__dict__)
        try:
            yield self
        finally:
            self.__dict__.clear()
            self.__dict__.update(saved)
            _changed()


runtime = _Group(
    interpret=_flag("TRITON_INTERPRET"),
    debug=_flag("TRITON_DEBUG"),
    override_arch=os.environ.get("TRITON_OVERRIDE_ARCH"),
    launch_enter_hook=HookChain(),
    launch_exit_hook=HookChain(reversed=True),
    kernel_load_start_hook=HookChain(),
    kernel_load_end_hook=HookChain(reversed=True),
    jit_cache_hook=None,
    jit_post_compile_hook=None,
    add_stages_inspection_hook=None,
    sanitize_overflow=True,
)
autotuning = _Group(print=_flag("TRITON_PRINT_AUTOTUNING"), cache=_flag("TRITON_CACHE_AUTOTUNING"), listener=None)
cache = _Group(dir=os.environ.get("TRITON_CACHE_DIR") or os.path.expanduser("~/.triton/cache"), manager_class=None, remote_manager_class=None)
language = _Group(fp32_default=os.environ.get("TRITON_F32_DEFAULT"),
                  default_fp_fusion=_flag("TRITON_DEFAULT_FP_FUSION", True), strict_reduction_ordering=False)
compilation = _Group(override=False, dump_ir=False, always_compile=_flag("TRITON_ALWAYS_COMPILE"),
                     allow_non_constexpr_globals=_flag("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"),
                     front_end_debugging=_flag("TRITON_FRONT_END_DEBUGGING"), disable_line_info=False,
                     instrumentation_mode="", listener=None, use_ir_loc=None, enable_asan=False)
build = _Group()
redis = _Group()
nvidia = _Group()
amd = _Group(use_buffer_ops=False)
proton = _Group(disable=True)


def refresh_knobs():
    """Reads the environment again."""
    runtime.interpret = _flag("TRITON_INTERPRET")
    runtime.debug = _flag("TRITON_DEBUG")


if os.environ.get("TRITON_CACHE_DIR") and not os.environ.get("NEREID_CACHE_DIR"):
    os.environ["NEREID_CACHE_DIR"] = os.path.join(os.environ["TRITON_CACHE_DIR"], "nereid")
