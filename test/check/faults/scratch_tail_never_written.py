# check: row_max[3](x=randn(3x20,f32), scratch=empty(3x32,f32), out=empty(3,f32), N=20, BLOCK=32)
# The scratch rows are wide enough, so nothing is out of bounds; but only 20 of 32 elements were stored.
import triton
import triton.language as tl


@triton.jit
def row_max(x, scratch, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    tl.store(scratch + row * BLOCK + columns, tl.abs(tl.load(x + row * N + columns, mask=mask)), mask=mask)
    value = tl.load(scratch + row * BLOCK + columns)  # fault: . UninitialisedRead `scratch`
    tl.store(out + row, tl.max(value, axis=0))
