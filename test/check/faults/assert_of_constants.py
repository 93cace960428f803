# check: kernel(p=zeros(1,f32), BLOCK=12)
import triton
import triton.language as tl


@triton.jit
def kernel(p, BLOCK: tl.constexpr):
    assert BLOCK % 8 == 0, "BLOCK must be a multiple of 8"  # fault: . AssertFailed BLOCK must be a multiple of 8
    tl.store(p, 1.0)
