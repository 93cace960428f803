# check: matmul[4](a=randn(32x32,f16), b=randn(32x16,f16), c=empty(32x16,f32), parts=empty(2x16x16,f32), flags=zeros(2,i32), B=16)
# Two programs share a tile: the second publishes its part, the first waits for it. Owners come last, so that no program waits for a
# later one.
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, parts, flags, B: tl.constexpr):
    i = tl.arange(0, B)
    tile = tl.program_id(0) % 2
    owner = tl.program_id(0) >= 2
    k = tl.where(owner, 0, B) + i
    rows = tile * B + i
    left = tl.load(a + rows[:, None] * (2 * B) + k[None, :])
    right = tl.load(b + k[:, None] * B + i[None, :])
    acc = tl.dot(left, right)
    part = parts + tile * B * B + i[:, None] * B + i[None, :]
    if owner:
        while tl.atomic_cas(flags + tile, 1, 1) != 1:
            pass
        acc += tl.load(part)
        tl.store(c + rows[:, None] * B + i[None, :], acc)
    else:
        tl.store(part, acc)
        tl.debug_barrier()
        tl.atomic_xchg(flags + tile, 1)
