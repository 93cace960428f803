import triton
import triton.language as tl


@triton.jit
def last(p, inside):
    return tl.load(p, mask=inside, other=0.0)


@triton.jit
def leaves(x, y, out, counts, ox, oy, oo, oc, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    a = tl.load(x + ox + i, mask=inside)
    b = last(y + oy + i, inside)
    c = a + b  # one of the two loads becomes a part of this
    tl.store(out + oo + i, c, mask=inside)
    tl.atomic_add(counts + oc + i, 1, mask=inside)
