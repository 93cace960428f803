# run: ref cpu gpu
# Rule 10: the result types of sums and maxima over narrow types.
import triton
import triton.language as tl


@triton.jit
def types(b, s, h, u, y):
    i = tl.arange(0, 4)
    i8 = tl.load(b + i)
    u8 = tl.load(u + i)
    f16 = tl.load(h + i)
    bf16 = tl.load(s + i)
    tl.static_assert(tl.sum(i8, 0).dtype == tl.int32)
    tl.static_assert(tl.sum(u8, 0).dtype == tl.uint32)
    tl.static_assert(tl.sum(f16, 0).dtype == tl.float16)
    tl.static_assert(tl.sum(bf16, 0).dtype == tl.bfloat16)
    tl.static_assert(tl.max(i8, 0).dtype == tl.int32)
    tl.static_assert(tl.max(f16, 0).dtype == tl.float32)
    tl.static_assert(tl.max(bf16, 0).dtype == tl.float32)
    tl.store(y, tl.sum(i8, 0))
    tl.store(y + 1, tl.sum(u8, 0))
    tl.store(y + 2, tl.max(i8, 0))

# expect: types(b=[127, 127, 127, -1]:i8, s=[1, 2, 3, 4]:bf16, h=[1, 2, 3, 4]:f16, u=[255, 255, 255, 255]:u8,
#     y=zeros(3,i32)) -> y == [380, 1020, 127]
