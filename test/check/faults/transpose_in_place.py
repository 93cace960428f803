# check: transpose[2, 2](x=randn(32x32,f32), N=32, B=16)
# Program (0, 1) reads the block that program (1, 0) writes.
import triton
import triton.language as tl


@triton.jit
def transpose(x, N, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    tile = tl.load(x + rows[:, None] * N + columns[None, :])
    tl.debug_barrier()
    tl.store(x + columns[:, None] * N + rows[None, :], tl.trans(tile))  # fault: .|.-2 DataRace `x`
