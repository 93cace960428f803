# check: embed[1](table=randn(64,f32), ids=[600000]:i32, y=empty(64,f32), D=4096, N=64)
# The vocabulary is fine in 32 bits, the table's elements are not.
import triton
import triton.language as tl


@triton.jit
def embed(table, ids, y, D, N: tl.constexpr):
    d = tl.arange(0, N)
    row = tl.load(ids + tl.program_id(0))
    start = row * D  # fault: . AddressOverflow
    tl.store(y + d, tl.load(table + start + d))  # maybe: . OutOfBounds
