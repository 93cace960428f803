# run: ref cpu gpu
# Rule 6: i32 with u32 is u32; u32 shifts right logically.
import triton
import triton.language as tl


@triton.jit
def mix(a, b, y):
    s = tl.load(a) + tl.load(b)
    tl.static_assert(s.dtype == tl.uint32)
    tl.store(y, (s >> 28).to(tl.int64))
    tl.store(y + 1, (tl.load(a) >> 28).to(tl.int64))

# expect: mix(a=[-1]:i32, b=[0]:u32, y=zeros(2,i64)) -> y == [15, -1]


# The comparison of mixed signs is unsigned, and so are minimum and maximum.
@triton.jit
def compare(a, b, y):
    tl.store(y, tl.load(a) > tl.load(b))
    tl.store(y + 1, tl.load(b) > 0)

# expect: compare(a=[-1]:i32, b=[1]:u32, y=zeros(2,i32)) -> y == [1, 1]


@triton.jit
def widen(a, y):
    tl.store(y, tl.load(a).to(tl.int64))
    tl.store(y + 1, tl.load(a).to(tl.int32, bitcast=True).to(tl.int64))

# expect: widen(a=[4294967295]:u32, y=zeros(2,i64)) -> y == [4294967295, -1]
