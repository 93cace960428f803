# check: update[2](state=randn(2x4x16,f32), x=randn(2x16,f32), T=4, D=16)
# The rows of the state move up by one and the new row comes last.
import triton
import triton.language as tl


@triton.jit
def update(state, x, T: tl.constexpr, D: tl.constexpr):
    base = state + tl.program_id(0) * T * D
    rows = tl.arange(0, T)
    columns = tl.arange(0, D)
    here = base + rows[:, None] * D + columns[None, :]
    new = tl.load(x + tl.program_id(0) * D + columns)
    old = tl.load(here + D, mask=rows[:, None] < T - 1, other=0.0)
    tl.store(here, tl.where(rows[:, None] < T - 1, old, new[None, :]))  # fault: . MissingBarrier `state`
