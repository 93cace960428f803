from ..core import _fill

_fill(globals(), "libdevice.")
