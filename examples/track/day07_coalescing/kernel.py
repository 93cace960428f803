import triton
import triton.language as tl


@triton.jit
def neighbours(x, out, n, BLOCK: tl.constexpr):
    """Lane i of program p takes element p * BLOCK + i."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def scattered(x, out, n, BLOCK: tl.constexpr):
    """Lane i of program p takes element i * programs + p: neighbours in a warp are a whole grid apart."""
    step = tl.num_programs(0)
    at = tl.arange(0, BLOCK) * step + tl.program_id(0)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)
