"""The epilogue as launches of its own, for comparison with the fused one."""
import triton
import triton.language as tl

from kernel import activate


@triton.jit
def add_bias(x_ptr, bias_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + n, mask=n < N)
    tl.store(out_ptr + row + n, x + tl.load(bias_ptr + n, mask=n < N).to(tl.float32), mask=n < N)


@triton.jit
def apply(x_ptr, out_ptr, n, BLOCK: tl.constexpr, ACTIVATION: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, activate(x, ACTIVATION).to(out_ptr.dtype.element_ty), mask=mask)
