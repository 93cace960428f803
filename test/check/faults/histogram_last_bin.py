# check: histogram[2](x=[0.0, 0.1, 0.25, 0.5, 0.75, 0.99, 1.0, 0.3]:f32, bins=zeros(4,i32), low=0.0, high=1.0, BINS=4, BLOCK=4)
# The greatest value falls into a bin behind the last one.
import triton
import triton.language as tl


@triton.jit
def histogram(x, bins, low, high, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    place = ((value - low) / (high - low) * BINS).to(tl.int32)
    tl.atomic_add(bins + place, 1)  # fault: . OutOfBounds `bins`
