# run: ref cpu gpu
# Inline PTX `mul24` and `mad24`: the low 24 bits of each operand, signed or not; `hi` is the upper 32 of the product's 48 bits.
import triton
import triton.language as tl


@triton.jit
def products(x, y, low, high, unsigned, added, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(low + i, tl.inline_asm_elementwise("mul24.lo.s32 $0, $1, $2;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1))
    tl.store(high + i, tl.inline_asm_elementwise("mul24.hi.s32 $0, $1, $2;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1))
    tl.store(unsigned + i, tl.inline_asm_elementwise("mul24.lo.u32 $0, $1, $2;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1))
    tl.store(added + i, tl.inline_asm_elementwise("mad24.hi.u32 $0, $1, $2, $1;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1))

# expect: products(x=values([3, -5, 8388608, 8388607, 305419896, -1, 16777218, -8388608], i32), y=values([7, 9, 2, 8388607, 6636321, 16777215, 2130706435, 3], i32), low=zeros(8,i32), high=zeros(8,i32), unsigned=zeros(8,i32), added=zeros(8,i32), N=8)
#     -> low == [21, -45, -16777216, -16777215, -692548232, 1, 6, -25165824] and high == [0, -1, -256, 1073741568, 347330232, 0, 0, -384] and unsigned == [21, 150994899, 16777216, -16777215, -692548232, -33554431, 6, 25165824] and added == [3, 2298, 8388864, 1082130175, 652750128, -513, 16777218, -8388224]
