# nereid: compile %s:kernel --signature "*i32" --emit tile
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def kernel(p):
    tl.store(p, libdevice.tanh(tl.load(p)))  # error: .:17 UnsupportedDType takes
# hint: .to(
