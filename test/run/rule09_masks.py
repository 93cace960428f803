# run: ref cpu gpu
# Rule 9: a masked load without other gives 0, and masked lanes touch no memory.
import triton
import triton.language as tl


@triton.jit
def head(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i, mask=i < n))

# expect: head(x=[1, 2, 3]:f32, y=full(8,9,f32), n=3, N=8) -> y == [1, 2, 3, 0, 0, 0, 0, 0]


# Lanes beyond the mask point far outside of every tensor.
@triton.jit
def far(x, y, N: tl.constexpr):
    i = tl.arange(0, N).to(tl.int64)
    v = tl.load(x + i * 1000000000000, mask=i == 0, other=-1)
    tl.store(y + i * 1000000000000, v, mask=i == 0)
    tl.store(y + 1, tl.sum(v, 0))

# expect: far(x=[5]:i32, y=zeros(2,i32), N=4) -> y == [5, 2]


@triton.jit
def never(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    nowhere = tl.cast(0, tl.int64).to(tl.pointer_type(tl.float32))
    tl.store(y + i, tl.load(nowhere + i, mask=i < 0, other=3.0))

# expect: never(x=[0]:f32, y=zeros(4,f32), N=4) -> y == [3, 3, 3, 3]
