# check: total[4](x=randn(128,f32), out=zeros(1,f32), BLOCK=32)
# check: total[1](x=randn(128,f32), out=zeros(1,f32), BLOCK=128) -> clean
# Load, add and store by all programs: updates are lost.
import triton
import triton.language as tl


@triton.jit
def total(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + i), axis=0)
    old = tl.load(out)
    tl.store(out, old + part)  # fault: .|.-1 DataRace `out`
