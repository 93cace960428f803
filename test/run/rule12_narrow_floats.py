# run: ref cpu gpu
# Rule 12: narrow floats convert exactly; fp8 saturates; bf16 keeps denormals.
import triton
import triton.language as tl


# Every value of a 16-bit format survives the way to f32 and back; NaN stays NaN.
@triton.jit
def round_trip(y, T: tl.constexpr, N: tl.constexpr):
    bits = tl.arange(0, N).to(tl.uint16)
    narrow = bits.to(T, bitcast=True)
    wide = narrow.to(tl.float32)
    back = wide.to(T).to(tl.uint16, bitcast=True)
    is_nan = wide != wide
    again = back.to(T, bitcast=True).to(tl.float32)
    tl.store(y, tl.sum(((back != bits) & (is_nan == 0)).to(tl.int32), 0))
    tl.store(y + 1, tl.sum((is_nan & (again == again)).to(tl.int32), 0))
    tl.store(y + 2, tl.sum(is_nan.to(tl.int32), 0))

# expect: round_trip(y=zeros(3,i32), T=tl.float16, N=65536) -> y == [0, 0, 2046]
# expect: round_trip(y=zeros(3,i32), T=tl.bfloat16, N=65536) -> y == [0, 0, 254]


@triton.jit
def saturate(x, y, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(y + tl.arange(0, N), v.to(tl.float8e4nv).to(tl.float32))
    tl.store(y + N + tl.arange(0, N), v.to(tl.float8e5).to(tl.float32))

# expect: saturate(x=[1000, -1e9, 0.3, 1e-9]:f32, y=zeros(8,f32), N=4)
#     -> y == [448, -448, 0.3125, 0, 1024, -57344, 0.3125, 0]


@triton.jit
def denormal(x, y):
    tl.store(y, tl.load(x).to(tl.bfloat16))

# expect: denormal(x=[9.183549615799121e-41]:f32, y=zeros(1,bf16)) -> y == [9.183549615799121e-41]


# Ties go to the even neighbour, also when the carry reaches the exponent.
@triton.jit
def ties(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i).to(tl.float16))

# expect: ties(x=[2049, 2051, 65519, 65520]:f32, y=zeros(4,f16), N=4) -> y == [2048, 2052, 65504, inf]
