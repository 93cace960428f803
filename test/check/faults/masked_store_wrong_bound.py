# check: concat[3](a=randn(3x10,f32), b=randn(3x6,f32), out=empty(3x16,f32), NA=10, NB=6, BLOCK=16)
# The second part is stored with the first part's bound, into the next row.
import triton
import triton.language as tl


@triton.jit
def concat(a, b, out, NA, NB, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    first = tl.load(a + row * NA + i, mask=i < NA, other=0.0)
    second = tl.load(b + row * NB + i, mask=i < NB, other=0.0)
    base = out + row * (NA + NB)
    tl.store(base + i, first, mask=i < NA)  # maybe: . DataRace
    tl.store(base + NA + i, second, mask=i < NA)  # fault: . OutOfBounds `out`
    # fault: .-1|.-2 DataRace `out`
