# run: ref cpu gpu
# All integers of 8 bits as floats, in words and one by one.
import triton
import triton.language as tl


@triton.jit
def widen(x, y, N: tl.constexpr, STEP: tl.constexpr):
    at = tl.arange(0, N) * STEP % N
    tl.store(y + at, tl.load(x + at).to(y.dtype.element_ty))

# expect: widen(x=values([i - 128 for i in range(256)], i8), y=zeros(256,f32), N=256, STEP=1) -> y == [i - 128 for i in range(256)]
# expect: widen(x=values([i - 128 for i in range(256)], i8), y=zeros(256,f32), N=256, STEP=5) -> y == [i - 128 for i in range(256)]
# expect: widen(x=values([i - 128 for i in range(256)], i8), y=zeros(256,f16), N=256, STEP=1) -> y == [i - 128 for i in range(256)]
# expect: widen(x=values([i - 128 for i in range(256)], i8), y=zeros(256,f16), N=256, STEP=3) -> y == [i - 128 for i in range(256)]
# expect: widen(x=values([i - 128 for i in range(256)], i8), y=zeros(256,bf16), N=256, STEP=1) -> y == [i - 128 for i in range(256)]
# expect: widen(x=values([i for i in range(256)], u8), y=zeros(256,f32), N=256, STEP=1) -> y == [i for i in range(256)]
# expect: widen(x=values([i for i in range(256)], u8), y=zeros(256,f16), N=256, STEP=1) -> y == [i for i in range(256)]
# expect: widen(x=values([i for i in range(256)], u8), y=zeros(256,bf16), N=256, STEP=7) -> y == [i for i in range(256)]
# expect: widen(x=values([5, -7], i8), y=zeros(2,f64), N=2, STEP=1) -> y == [5, -7]
# expect: widen(x=values([-128], i8), y=zeros(1,f16), N=1, STEP=1) -> y == [-128]
