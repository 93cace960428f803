# check: in_turn[3](x=randn(3,f32), out=zeros(1,f32), turn=zeros(1,i32))
import triton
import triton.language as tl


@triton.jit
def in_turn(x, out, turn):
    program = tl.program_id(0)
    while tl.atomic_add(turn, 0) != program:
        pass
    tl.store(out, tl.load(out) * 0.5 + tl.load(x + program))
    tl.debug_barrier()
    tl.atomic_xchg(turn, program + 1)
