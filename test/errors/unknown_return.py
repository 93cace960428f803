# nereid: compile %s:kernel --signature "*i32" --emit tile
import tables
import triton
import triton.language as tl


def width():
    if tables.is_wide():
        return 8
    return 4


WIDTH = tl.constexpr(width())


@triton.jit
def kernel(p):
    tl.store(p, WIDTH)  # error: .:17 UnknownValue `WIDTH` is not known: it comes from `tables.is_wide(...)`
