# RUN: nereid compile %s:square --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" --target sm_90a --emit cubin -o /dev/null
# RUN: nereid inspect %s:square --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" --target sm_90a | FileCheck %s
# RUN: nereid compile %s:most --signature "*fp32:16, *fp32:16, *i32:16, i32:16" --num-warps 8 --target sm_90a --emit ptx | FileCheck %s --check-prefix=MOST
# A tile that is larger than shared memory changes its layout in pieces, and rows that warps share meet in one exchange.
import triton
import triton.language as tl


# 256 x 256 of f32 are 256 KiB; halves of the rows go one after the other.
# CHECK: shared memory{{ +}}1{{[0-9][0-9]}} KiB
@triton.jit
def square(a_ptr, b_ptr, c_ptr, K):
    i = tl.arange(0, 256)
    k = tl.arange(0, 32)
    acc = tl.zeros([256, 256], dtype=tl.float32)
    for start in range(0, K, 32):
        a = tl.load(a_ptr + i[:, None] * K + start + k[None, :])
        b = tl.load(b_ptr + (start + k[:, None]) * 256 + i[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + i[:, None] * 256 + i[None, :], acc)


# Values and places of two rows that eight warps share, in order: written once, read once.
# MOST: bar.sync
# MOST-NOT: bar.sync
# MOST: st.global
@triton.jit
def most(x_ptr, y_ptr, index_ptr, N):
    i, j = tl.arange(0, 2), tl.arange(0, 1024)
    x = tl.load(x_ptr + i[:, None] * N + j[None, :])
    value, index = tl.max(x, 1, return_indices=True)
    tl.store(y_ptr + i, value)
    tl.store(index_ptr + i, index)
