# check: embed[3](table=randn(8x16,f32), ids=[2, -1, 7]:i32, out=empty(3x16,f32), D=16)
# Python's -1 is the last row; an address has no such thing.
import triton
import triton.language as tl


@triton.jit
def embed(table, ids, out, D: tl.constexpr):
    token = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.load(ids + token)
    tl.store(out + token * D + d, tl.load(table + row * D + d))  # fault: . OutOfBounds `table`
