import triton
import triton.language as tl


@triton.jit
def sum_loop(x, out, n, share, BLOCK: tl.constexpr):
    """Program p adds its share of x. Lanes add side by side, and meet once, after the loop."""
    me = tl.program_id(0)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(me * share, (me + 1) * share, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.load(x + i, mask=(i < n) & (i < (me + 1) * share), other=0.0)
    tl.store(out + me, tl.sum(acc, axis=0))


@triton.jit
def clear(total):
    tl.store(total, 0.0)


@triton.jit
def sum_atomic(x, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))
