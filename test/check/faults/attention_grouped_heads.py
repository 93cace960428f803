# check: scores[4](q=randn(4x16x16,f16), k=randn(2x16x16,f16), out=empty(4x16x16,f32), GROUP=2, S=16, D=16)
# Two query heads share one key head; the kernel indexes keys by the query head.
import triton
import triton.language as tl


@triton.jit
def scores(q, k, out, GROUP: tl.constexpr, S: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0)
    rows = tl.arange(0, S)
    d = tl.arange(0, D)
    query = tl.load(q + head * S * D + rows[:, None] * D + d[None, :])
    key = tl.load(k + head * S * D + rows[None, :] * D + d[:, None])  # fault: . OutOfBounds `k`
    tl.store(out + head * S * S + rows[:, None] * S + rows[None, :], tl.dot(query, key))
