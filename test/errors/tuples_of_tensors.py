# nereid: compile %s:kernel --signature "*i32, *i32"
# Python would compare the tensors by identity; the answer is a run-time value.
import triton
import triton.language as tl


@triton.jit
def kernel(x, y):
    a = tl.load(x)
    b = tl.load(y)
    tl.static_assert((1, 2) == (1, 2))
    tl.static_assert((a, 1) != (b, 1, 2))
    tl.static_assert((None, a) != (a, None))
    if (a, 1) == (b, 1):  # error: .:8 TypeError not known while compiling
        tl.store(x, 1)
# hint: compare the elements
