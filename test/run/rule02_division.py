# run: ref cpu gpu
# Rule 2: run-time // and % truncate towards zero, those of constexprs round down.
import triton
import triton.language as tl


@triton.jit
def divide(y, a, b, A: tl.constexpr, B: tl.constexpr):
    tl.store(y, a // b)
    tl.store(y + 1, a % b)
    tl.store(y + 2, A // B)
    tl.store(y + 3, A % B)

# expect: divide(y=zeros(4,i32), a=-7, b=2, A=-7, B=2) -> y == [-3, -1, -4, 1]
# expect: divide(y=zeros(4,i32), a=7, b=-2, A=7, B=-2) -> y == [-3, 1, -4, -1]
# expect: divide(y=zeros(4,i32), a=-8, b=2, A=-8, B=2) -> y == [-4, 0, -4, 0]


# What hardware leaves open is fixed: x // 0 has all bits set, x % 0 is x.
@triton.jit
def edges(x, by, q, r, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(by + i)
    tl.store(q + i, a // b)
    tl.store(r + i, a % b)

# expect: edges(x=[5, -2147483648, 7, -9]:i32, by=[0, -1, -1, 4]:i32, q=zeros(4,i32), r=zeros(4,i32), N=4)
#     -> q == [-1, -2147483648, -7, -2] and r == [5, 0, 0, -1]


# A remainder alone, and of numbers without a sign, of which the largest divisors are above half of all.
@triton.jit
def rests(x, by, r, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(r + i, tl.load(x + i) % tl.load(by + i))

# expect: rests(x=[5, -2147483648, -7, -9]:i32, by=[0, -1, -2147483648, 4]:i32, r=zeros(4,i32), N=4) -> r == [5, 0, -7, -1]
# expect: rests(x=[5, 4294967295, 4294967295, 9]:u32, by=[0, 2, 4294967290, 4]:u32, r=zeros(4,u32), N=4) -> r == [5, 1, 5, 1]
# expect: edges(x=[5, 4294967295, 4294967295, 9]:u32, by=[0, 2, 4294967290, 4]:u32, q=zeros(4,u32), r=zeros(4,u32), N=4)
#     -> q == [4294967295, 2147483647, 1, 2] and r == [5, 1, 5, 1]
