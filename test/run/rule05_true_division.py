# run: ref cpu gpu
# Rule 5: / gives f32 for integers, f16 and bf16.
import triton
import triton.language as tl


@triton.jit
def divide(x, by, y, N: tl.constexpr):
    i = tl.arange(0, N)
    q = tl.load(x + i) / tl.load(by + i)
    tl.static_assert(q.dtype == tl.float32)
    tl.store(y + i, q)

# expect: divide(x=[1, 7]:i32, by=[3, 2]:i32, y=zeros(2,f32), N=2) -> y ~= [1/3, 3.5] within 3e-7
# expect: divide(x=[1, 7]:f16, by=[3, 2]:f16, y=zeros(2,f32), N=2) -> y ~= [1/3, 3.5] within 3e-7
# expect: divide(x=[1, 7]:bf16, by=[3, 2]:bf16, y=zeros(2,f32), N=2) -> y ~= [1/3, 3.5] within 3e-7
# expect: divide(x=[1, 7]:i8, by=[3, 2]:i8, y=zeros(2,f32), N=2) -> y ~= [1/3, 3.5] within 3e-7
