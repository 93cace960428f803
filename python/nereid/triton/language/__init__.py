"""The names of the language. Kernels are compiled from their source, so the functions here are only names: calling one
outside of a kernel is an error."""
from . import core
from .core import *  # noqa: F401,F403
from .core import _fill

_fill(globals(), "")

from . import math, extra, random, standard, semantic, target_info  # noqa: E402,F401
from .extra import libdevice  # noqa: E402,F401

PropagateNan = core.PropagateNan
TRITON_MAX_TENSOR_NUMEL = 1048576


def str_to_ty(name, c=None):
    """The type that a signature's word names."""
    if name.startswith("*"):
        is_const = name[1:2] == "k"
        return pointer_type(str_to_ty(name[2 if is_const else 1:]), const=is_const)
    if name not in core._by_signature:
        raise KeyError(f"unknown type `{name}` of a signature; there are {', '.join(core._by_signature)}, and `*` before the type of a pointer")
    return core._by_signature[name]
