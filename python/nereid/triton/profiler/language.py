"""Marks of scopes within kernels, as programs import them. Kernels may carry them; no profile here reads them, as under Triton
in a session without instrumentation."""
from ..language.core import builtin

enter_scope = builtin("enter_scope")
exit_scope = builtin("exit_scope")
scope = builtin("scope")
for _one in (enter_scope, exit_scope, scope):
    _one.__module__, _one._key = "triton.profiler.language", "triton.profiler.language." + _one.__name__


def enable_semantic(semantic_name):
    """Triton marks nothing in kernels of its own language unless a program asks for it."""
    _known(semantic_name)


def disable_semantic(semantic_name):
    _known(semantic_name)


def _known(name):
    if name not in ("triton", "gluon"):
        raise KeyError(name)
