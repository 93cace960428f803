# run: ref cpu
# A hint of runs that a remainder cuts short (rows of a slice that is shorter than the block) is believed for no more than is true on a CPU:
# what lies behind the end of `x` is no part of any tensor.
import triton
import triton.language as tl


@triton.jit
def wrapped(x, y, rows, BLOCK: tl.constexpr):
    at = tl.max_contiguous(tl.arange(0, BLOCK) % rows, BLOCK)
    tl.store(y + tl.arange(0, BLOCK), tl.load(x + at))

# expect: wrapped(x=iota(5,i32), y=zeros(64,i32), rows=5, BLOCK=64) -> y == [i % 5 for i in range(64)]
# expect: wrapped(x=iota(48,i32), y=zeros(64,i32), rows=48, BLOCK=64) -> y == [i % 48 for i in range(64)]
