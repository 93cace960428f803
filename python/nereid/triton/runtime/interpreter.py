"""Kernels that run on the reference interpreter wherever they are launched. What Triton's interpreter is made of is not there."""
from .. import knobs
from .errors import InterpreterError
from .jit import JITFunction

__all__ = ["InterpretedFunction", "InterpreterError"]


class _Interpreted(type):
    def __instancecheck__(cls, value):
        """Under TRITON_INTERPRET=1 each kernel is one, as programs ask that skip their own tuning then."""
        return super().__instancecheck__(value) or isinstance(value, JITFunction) and bool(knobs.runtime.interpret)


class InterpretedFunction(JITFunction, metaclass=_Interpreted):
    def __new__(cls, fn, *args, **kwargs):
        return super().__new__(cls)

    def __init__(self, fn, **kwargs):
        super().__init__(getattr(fn, "fn", fn), **kwargs)

    def run(self, *args, grid, warmup=False, **kwargs):
        if warmup:
            return None
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        self._bring([x for x in (*args, *kwargs.values())])
        return self._run_interpreted(grid, args, kwargs)
