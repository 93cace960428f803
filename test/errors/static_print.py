# nereid: compile %s:kernel --signature "*fp32, 8" --emit tile
# What `tl.static_print` prints is a note at its line, also when the kernel is refused afterwards.
import triton
import triton.language as tl


@triton.jit
def helper(x):
    tl.static_print("in a helper:", x.dtype, sep=" ")  # note: .:5 StaticPrint in a helper: fp32
    return x


@triton.jit
def kernel(p, N: tl.constexpr):
    tl.static_print("N", N, N * 2, sep="=")  # note: .:5 StaticPrint N=8=16
    x = helper(tl.load(p))
    tl.static_assert(N > 8, "too small")  # error: . StaticAssertFailed too small
