"""The host side of the Triton language, over Nereid's engine."""
import os

# Packages refuse versions by it for faults of Triton's own compiler.
__version__ = os.environ.get("NEREID_TRITON_VERSION", "3.6.0")

from . import language  # noqa: E402
from . import knobs
from .errors import TritonError
from .runtime import (
    Autotuner,
    Config,
    Heuristics,
    InterpreterError,
    JITFunction,
    KernelInterface,
    MockTensor,
    OutOfResources,
    TensorWrapper,
    autotune,
    constexpr_function,
    driver,
    heuristics,
    reinterpret,
    set_allocator,
)
from .runtime.jit import jit
from .runtime._async_compile import AsyncCompileMode, FutureKernel
from .compiler import CompilationError, compile
from ._utils import cdiv, must_use_result, next_power_of_2
from .language.core import _aggregate as aggregate
from . import backends, runtime, compiler, testing, tools

__all__ = [
    "AsyncCompileMode", "autotune", "cdiv", "CompilationError", "compile", "Config", "constexpr_function", "FutureKernel", "heuristics", "InterpreterError",
    "jit", "JITFunction", "KernelInterface", "language", "MockTensor", "must_use_result", "next_power_of_2",
    "OutOfResources", "reinterpret", "runtime", "set_allocator", "TensorWrapper", "TritonError", "testing", "tools",
]
