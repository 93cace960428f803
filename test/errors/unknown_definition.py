# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

from some_library import fast_mode

if fast_mode():
    SCALE = tl.constexpr(2)
else:
    SCALE = tl.constexpr(3)


@triton.jit
def kernel(p):
    tl.store(p, tl.load(p) * SCALE)  # error: .:30 UnknownDefinition `SCALE` has two definitions
# hint: choose with `--define SCALE=VALUE`
