import triton
import triton.language as tl


@triton.jit
def sum_of_products(a_ptr, b_ptr, out_ptr, N, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = i[:, None] * BLOCK + i[None, :]
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for n in range(N):
        a = tl.load(a_ptr + n * BLOCK * BLOCK + at)
        b = tl.load(b_ptr + n * BLOCK * BLOCK + at)
        acc += tl.dot(a, b)
    tl.store(out_ptr + at, acc)
