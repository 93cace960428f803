# check: stream_k[4](a=randn(4x16,f32), parts=zeros(4x16,f32), out=empty(2x16,f32), N=16)
# The owner of a tile does not wait for its neighbour's part.
import triton
import triton.language as tl


@triton.jit
def stream_k(a, parts, out, N: tl.constexpr):
    program = tl.program_id(0)
    i = tl.arange(0, N)
    value = tl.load(a + program * N + i)
    if program % 2 == 1:
        tl.store(parts + program * N + i, value)
    else:
        value += tl.load(parts + (program + 1) * N + i)  # fault: .|.-2 DataRace `parts`
        tl.store(out + program // 2 * N + i, value)
