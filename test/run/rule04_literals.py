# run: ref cpu gpu
# Rule 4: the type of a literal follows from its value.
import triton
import triton.language as tl


@triton.jit
def literals(y, z):
    a = 2147483647
    tl.static_assert(a.dtype == tl.int32)
    b = 2**31
    tl.static_assert(b.dtype == tl.uint32)
    c = 2**32
    tl.static_assert(c.dtype == tl.int64)
    d = 2**63
    tl.static_assert(d.dtype == tl.uint64)
    e = -2147483648
    tl.static_assert(e.dtype == tl.int32)
    tl.store(y, b >> 31)
    tl.store(y + 1, c >> 32)
    tl.store(y + 2, d >> 63)
    small = 1e-40
    tl.static_assert(small.dtype == tl.float64)
    usual = 0.1
    tl.static_assert(usual.dtype == tl.float32)
    endless = float("inf")
    tl.static_assert(endless.dtype == tl.float32)
    tl.store(z, small)

# expect: literals(y=zeros(3,i64), z=zeros(1,f64)) -> y == [1, 1, 1] and z == [1e-40]


@triton.jit
def truth(y):
    t = True
    tl.static_assert(t.dtype == tl.int1)
    tl.store(y, t)

# expect: truth(y=zeros(1,i32)) -> y == [1]
