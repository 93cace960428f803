# check: greatest[4](x=[3, 9, 4, 7, 1, 12, 5, 20]:i32, out=zeros(1,i32), BLOCK=2)
import triton
import triton.language as tl


@triton.jit
def greatest(x, out, BLOCK: tl.constexpr):
    value = tl.max(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), axis=0)
    if value > tl.load(out):
        tl.store(out, value)  # fault: .|.-1 DataRace `out`
