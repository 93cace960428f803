from ...core import _fill
from .. import libdevice  # noqa: F401

_fill(globals(), "extra.cuda.")
