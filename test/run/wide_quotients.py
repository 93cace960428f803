# run: ref cpu gpu
# Quotients of 64 bits: small numbers and large ones in one vector, negative ones, and places that are adjacent after all.
import triton
import triton.language as tl


@triton.jit
def quotients(x, d, div, rem, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(div + i, a // d)
    tl.store(rem + i, a % d)

# expect: quotients(x=[0, 1, 6, 7, 8, 20, 2147483647, 100]:i64, d=7, div=zeros(8,i64), rem=zeros(8,i64), N=8)
#     -> div == [0, 0, 0, 1, 1, 2, 306783378, 14] and rem == [0, 1, 6, 0, 1, 6, 1, 2]
# expect: quotients(x=[0, 1, 6, 7, 8, 20, 2147483647, 100]:i64, d=0, div=zeros(8,i64), rem=zeros(8,i64), N=8)
#     -> div == [-1, -1, -1, -1, -1, -1, -1, -1] and rem == [0, 1, 6, 7, 8, 20, 2147483647, 100]
# expect: quotients(x=[0, 1, -7, 2147483648, 9007199254740993, -9223372036854775808, 9223372036854775807, -100]:i64, d=3, div=zeros(8,i64), rem=zeros(8,i64), N=8)
#     -> div == [0, 0, -2, 715827882, 3002399751580331, -3074457345618258602, 3074457345618258602, -33] and rem == [0, 1, -1, 2, 0, -2, 1, -1]
# expect: quotients(x=[0, 1, 6, 7, 8, 20, 2147483647, 100]:i64, d=4294967298, div=zeros(8,i64), rem=zeros(8,i64), N=8)
#     -> div == [0, 0, 0, 0, 0, 0, 0, 0] and rem == [0, 1, 6, 7, 8, 20, 2147483647, 100]


@triton.jit
def by_lanes(x, y, div, rem, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(div + i, a // b)
    tl.store(rem + i, a % b)

# expect: by_lanes(x=[0, 1, 6, 7, 8, 20, 2147483647, 100]:i64, y=[3, 0, 5, 2, 9, 21, 1, 7]:i64, div=zeros(8,i64), rem=zeros(8,i64), N=8)
#     -> div == [0, -1, 1, 3, 0, 0, 2147483647, 14] and rem == [0, 1, 1, 1, 8, 20, 0, 2]
# expect: by_lanes(x=[0, 1, -7, 2147483648, 9007199254740993, -9223372036854775808, 9223372036854775807, -100]:i64, y=[1, -1, 7, 3, 0, -1, 1152921504606846976, -7]:i64, div=zeros(8,i64), rem=zeros(8,i64), N=8)
#     -> div == [0, -1, -1, 715827882, -1, -9223372036854775808, 7, 14] and rem == [0, 0, 0, 2, 9007199254740993, 0, 1152921504606846975, -2]


@triton.jit
def by_seven(x, div, rem, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(div + i, a // 7)
    tl.store(rem + i, a % 7)

# expect: by_seven(x=[0, 1, 6, 7, 8, 20, 2147483647, 100]:i64, div=zeros(8,i64), rem=zeros(8,i64), N=8)
#     -> div == [0, 0, 0, 1, 1, 2, 306783378, 14] and rem == [0, 1, 6, 0, 1, 6, 1, 2]
# expect: by_seven(x=[0, 1, -7, 2147483648, 9007199254740993, -9223372036854775808, 9223372036854775807, -100]:i64, div=zeros(8,i64), rem=zeros(8,i64), N=8)
#     -> div == [0, 0, -1, 306783378, 1286742750677284, -1317624576693539401, 1317624576693539401, -14] and rem == [0, 1, 0, 2, 5, -1, 0, -2]


@triton.jit
def copied(x, out, rows, columns, N: tl.constexpr):
    i = tl.arange(0, N).to(tl.int64)
    tl.store(out + (i // columns) * columns + i % columns, tl.load(x + i), mask=i < rows * columns)

# expect: copied(x=iota(32,f32), out=zeros(32,f32), rows=3, columns=10, N=32)
#     -> out == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 0, 0]
