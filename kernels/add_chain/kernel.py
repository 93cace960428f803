import triton
import triton.language as tl


@triton.jit
def add_all(a_ptr, b_ptr, c_ptr, d_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """out = a + b + c + d in one pass: four reads and one write, whatever the length of the chain."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(a_ptr + offsets, mask=mask).to(tl.float32)
    total += tl.load(b_ptr + offsets, mask=mask).to(tl.float32)
    total += tl.load(c_ptr + offsets, mask=mask).to(tl.float32)
    total += tl.load(d_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(out_ptr + offsets, total.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def add_two(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """One link of the chain: two reads and one write for each."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(a_ptr + offsets, mask=mask).to(tl.float32) + tl.load(b_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(out_ptr + offsets, total.to(out_ptr.dtype.element_ty), mask=mask)
