# run: ref cpu
# Conversions of inline PTX between f32 and floats of 4, 6 and 8 bits that tiles do not have: to nearest, ties to even, NaN and what is
# too large to the largest; of powers of two alone (`ue8m0`) up or towards zero. Chips before sm_100 have no such instructions.
import triton
import triton.language as tl


@triton.jit
def to_e2m1(x, codes, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    pair = tl.inline_asm_elementwise("{ .reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, $2, $1; mov.b32 $0, {b, b, b, b}; }",
                                     "=r,r,r", [v, -v], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(codes + i, pair & 0xFF)

# The low half is that of x, the high half that of -x, which is 0.0 for 0.0.
# expect: to_e2m1(x=[0.0, 0.25, 0.2500001, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 5.0001, 7.0, inf, nan, -0.25, -1e-30, 1.2]:f32, codes=zeros(16,i32), N=16)
#     -> codes == [0, 0x80, 0x91, 0xA2, 0xA2, 0xC4, 0xC4, 0xE6, 0xE6, 0xF7, 0xF7, 0xF7, 0x77, 0x08, 0x08, 0xA2]


@triton.jit
def from_e2m1(codes, low, high, N: tl.constexpr):
    i = tl.arange(0, N)
    both = tl.inline_asm_elementwise("{ .reg .b8 b0, b1, b2, b3; mov.b32 {b0, b1, b2, b3}, $1; cvt.rn.f16x2.e2m1x2 $0, b0; }",
                                     "=r,r", [tl.load(codes + i)], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(low + i, (both & 0xFFFF).to(tl.uint16).to(tl.float16, bitcast=True))
    tl.store(high + i, (both >> 16).to(tl.uint16).to(tl.float16, bitcast=True))

# expect: from_e2m1(codes=values([i + 16 * (15 - i) for i in range(16)], i32), low=zeros(16,f16), high=zeros(16,f16), N=16)
#     -> low == [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6] and high == [-6, -4, -3, -2, -1.5, -1, -0.5, -0.0, 6, 4, 3, 2, 1.5, 1, 0.5, 0]


@triton.jit
def six_bits(x, codes, back, N: tl.constexpr):
    """e3m2 below e2m3, and what the latter stands for."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    code = tl.inline_asm_elementwise("{ .reg .b16 a, b; cvt.rn.satfinite.e3m2x2.f32 a, 0f00000000, $1; cvt.rn.satfinite.e2m3x2.f32 b, 0f00000000, $1; mov.b32 $0, {a, b}; }",
                                     "=r,r", [v], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(codes + i, code)
    halves = tl.inline_asm_elementwise("{ .reg .b16 a, b; mov.b32 {a, b}, $1; cvt.rn.f16x2.e2m3x2 $0, b; }",
                                       "=r,r", [code], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(back + i, (halves & 0xFFFF).to(tl.uint16).to(tl.float16, bitcast=True))

# expect: six_bits(x=[0.0, 0.0625, 0.1875, -1.0, 7.5, 28.0, 100.0, 0.03125]:f32, codes=zeros(8,i32), back=zeros(8,f16), N=8)
#     -> codes == [0, 1, 3 + 0x20000, 44 + 0x280000, 24 + 0x1F0000, 31 + 0x1F0000, 31 + 0x1F0000, 0] and back == [0, 0, 0.25, -1, 7.5, 7.5, 7.5, 0]


@triton.jit
def exponents(x, up, down, back, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    codes = tl.inline_asm_elementwise("{ .reg .b16 a, b; cvt.rp.satfinite.ue8m0x2.f32 a, 0f00000000, $1; cvt.rz.satfinite.ue8m0x2.f32 b, 0f00000000, $1; mov.b32 $0, {a, b}; }",
                                      "=r,r", [v], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(up + i, codes & 0xFFFF)
    tl.store(down + i, codes >> 16)
    pair = tl.inline_asm_elementwise("{ .reg .b16 a, b; mov.b32 {a, b}, $1; cvt.rn.bf16x2.ue8m0x2 $0, a; }",
                                     "=r,r", [codes], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(back + i, (pair & 0xFFFF).to(tl.uint16).to(tl.bfloat16, bitcast=True))

# expect: exponents(x=[1.0, 1.5, -3.0, 0.0, 1e-39, 3e38, inf, nan]:f32, up=zeros(8,i32), down=zeros(8,i32), back=zeros(8,bf16), N=8)
#     -> up == [127, 128, 129, 0, 0, 254, 254, 255] and down == [127, 127, 128, 0, 0, 254, 254, 255]
#     and back == [1, 2, 4, 2.0 ** -127, 2.0 ** -127, 2.0 ** 127, 2.0 ** 127, nan]
