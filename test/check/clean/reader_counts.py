# check: publish[4](x=randn(8,f32), box=empty(8,f32), flag=zeros(1,i32), y=empty(3x8,f32), N=8)
# One program writes, three wait for the same flag.
import triton
import triton.language as tl


@triton.jit
def publish(x, box, flag, y, N: tl.constexpr):
    program = tl.program_id(0)
    i = tl.arange(0, N)
    if program == 0:
        tl.store(box + i, tl.load(x + i) + 1)
        tl.debug_barrier()
        tl.atomic_add(flag, 1, sem="release")
    else:
        while tl.atomic_add(flag, 0, sem="acquire") != 1:
            pass
        tl.store(y + (program - 1) * N + i, tl.load(box + i))
