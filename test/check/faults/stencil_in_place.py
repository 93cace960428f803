# check: smooth[2](x=randn(32,f32), n=32, BLOCK=16)
# The neighbour at the block's edge belongs to another program, which overwrites it.
import triton
import triton.language as tl


@triton.jit
def smooth(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    middle = tl.load(x + i)
    right = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    tl.debug_barrier()
    tl.store(x + i, (middle + right) / 2)  # fault: .|.-2 DataRace `x`
