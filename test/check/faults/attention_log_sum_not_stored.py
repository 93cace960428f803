# check: attention_delta[2](o=randn(32x16,f32), do=randn(32x16,f32), delta=empty(32,f32), out=empty(32x16,f32), D=16, B=16)
# Rows are written to one place and read from another.
import triton
import triton.language as tl


@triton.jit
def attention_delta(o, do, delta, out, D: tl.constexpr, B: tl.constexpr):
    block = tl.program_id(0)
    rows = block * B + tl.arange(0, B)
    d = tl.arange(0, D)
    a = tl.load(o + rows[:, None] * D + d[None, :])
    b = tl.load(do + rows[:, None] * D + d[None, :])
    tl.store(delta + block * B // 2 + tl.arange(0, B // 2), tl.sum(a * b, axis=1).reshape(B // 2, 2).sum(axis=1))
    tl.debug_barrier()
    sums = tl.load(delta + rows)  # fault: . UninitialisedRead `delta`
    # maybe: .-1 DataRace
    # maybe: .-4 DataRace
    tl.store(out + rows[:, None] * D + d[None, :], b - sums[:, None])
