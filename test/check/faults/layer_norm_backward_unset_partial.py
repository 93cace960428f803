# check: partial_weights[2](dy=randn(4x16,f32), part=empty(2x16,f32), ROWS=2, N=16)
# The running sum is kept in memory, and its first value comes from there too.
import triton
import triton.language as tl


@triton.jit
def partial_weights(dy, part, ROWS: tl.constexpr, N: tl.constexpr):
    program = tl.program_id(0)
    columns = tl.arange(0, N)
    for row in range(program * ROWS, (program + 1) * ROWS):
        value = tl.load(dy + row * N + columns)
        total = tl.load(part + program * N + columns) + value  # fault: . UninitialisedRead `part`
        tl.store(part + program * N + columns, total)
