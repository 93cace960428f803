from .core import *  # noqa: F401,F403
from .core import _fill

_fill(globals(), "")
