import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """One block of elements a program."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def add_grid_stride(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """A fixed number of programs walks the whole vector, so that launching costs the same for any n."""
    start = tl.program_id(0) * BLOCK
    step = tl.num_programs(0) * BLOCK
    for block in range(start, n, step):
        offsets = block + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        y = tl.load(y_ptr + offsets, mask=mask)
        tl.store(out_ptr + offsets, x + y, mask=mask)
