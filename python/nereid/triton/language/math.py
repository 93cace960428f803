from .core import _fill

_fill(globals(), "math.")
_fill(globals(), "")
