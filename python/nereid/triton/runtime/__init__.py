from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .driver import driver
from .errors import AutotunerError, InterpreterError, OutOfResources, PTXASError
from .jit import (
    ConstexprFunction,
    JITCallable,
    JITFunction,
    KernelInterface,
    MockTensor,
    TensorWrapper,
    constexpr_function,
    reinterpret,
)
from ._allocation import set_allocator, set_profile_allocator

__all__ = [
    "autotune", "Autotuner", "AutotunerError", "Config", "constexpr_function", "ConstexprFunction", "driver",
    "Heuristics", "heuristics", "InterpreterError", "JITCallable", "JITFunction", "KernelInterface",
    "MockTensor", "OutOfResources", "PTXASError", "reinterpret", "set_allocator", "set_profile_allocator",
    "TensorWrapper",
]
