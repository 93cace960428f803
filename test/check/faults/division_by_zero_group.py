# check: grouped[4](x=randn(4,f32), y=empty(4,f32), n=4, group=8)
# Fewer elements than a group: the number of groups is 0.
import triton
import triton.language as tl


@triton.jit
def grouped(x, y, n, group):
    program = tl.program_id(0)
    groups = n // group
    place = program % groups  # fault: . DivisionByZero
    tl.store(y + program, tl.load(x + program) + place)
