# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def kernel(p):
    i = tl.arange(0, 8)
    x = tl.load(p + i)
    y = tl.math.tanh(x)  # note: .:9 OldSpelling old spelling
    tl.store(p + i, y)
# hint: libdevice.tanh
