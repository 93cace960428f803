# check: in_turn[3](x=randn(3,f32), out=zeros(1,f32), turn=zeros(1,i32))
# Each program waits for its turn, and passes it to the wrong neighbour.
import triton
import triton.language as tl


@triton.jit
def in_turn(x, out, turn):
    program = tl.program_id(0)
    while tl.atomic_add(turn, 0) != program:  # fault: . Deadlock
        pass
    tl.atomic_add(out, tl.load(x + program))
    tl.atomic_xchg(turn, program - 1)
