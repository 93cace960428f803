# run: ref cpu gpu
# What arithmetic on f32 makes is rounded to bf16: ties to even, denormals kept, a NaN of any bits a NaN.
import triton
import triton.language as tl


@triton.jit
def rounded(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i).to(tl.float32, bitcast=True)
    tl.store(y + i, (v * 1.0).to(tl.bfloat16).to(tl.int16, bitcast=True))


@triton.jit
def rounded_twice(x, z, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = (tl.load(x + i).to(tl.float32, bitcast=True) + 0.0).to(tl.bfloat16)
    tl.store(y + i, (v * tl.load(z + i)).to(tl.int16, bitcast=True))


@triton.jit
def is_nan(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = (tl.load(x + i).to(tl.float32, bitcast=True) * 1.5).to(tl.bfloat16)
    tl.store(y + i, (v != v).to(tl.int8))

# 1 and 1 + a unit, each with half a unit more; the greatest number; denormals below and above half a unit; a denormal that
# becomes a normal number.
# expect: rounded(x=[[0x3f808000, 0x3f818000, 0x3f808001, 0x7f7fffff, 32768, 32769, 98304, 0x7fffff][i % 8] for i in range(128)]:i32, N=128)
#     -> y:i16 == [[0x3f80, 0x3f82, 0x3f81, 0x7f80, 0, 1, 2, 128][i % 8] for i in range(128)]
# expect: rounded(x=[[0x3f808000, 0x3f818000, 0x3f808001, 0x7f7fffff, 32768, 32769, 98304, 0x7fffff][i % 8] for i in range(16)]:i32, N=16)
#     -> y:i16 == [[0x3f80, 0x3f82, 0x3f81, 0x7f80, 0, 1, 2, 128][i % 8] for i in range(16)]
# expect: rounded_twice(x=[[0x3f808000, 0x3f818000, 98304, 0x7fffff][i % 4] for i in range(128)]:i32, z=[[1, 2, 1, 2][i % 4] for i in range(128)]:bf16, N=128)
#     -> y:i16 == [[0x3f80, 0x3f82 + 128, 2, 256][i % 4] for i in range(128)]
# expect: is_nan(x=[[0x7fffffff, -1, 0x7f800001, 0x7f800000, -8388608, 0x7fffc000, 0, 0x7f7fffff][i % 8] for i in range(128)]:i32, N=128)
#     -> y:i8 == [[1, 1, 1, 0, 0, 1, 0, 0][i % 8] for i in range(128)]
