# nereid: run %s:kernel --arg p=zeros(8,f32) --grid "(1,)" --device ref
import triton
import triton.language as tl


@triton.jit
def kernel(p, n):  # error: .:1 SignatureMismatch `n` of `kernel`
    tl.store(p + n, 0.0)
