# RUN: nereid compile %s:masked --signature "*fp32:16, *fp32:16, *i8:16, i32:16" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:sampled --signature "*fp32:16, *i32:16, i32:16, i32:16" --num-warps 8 --target sm_90a --emit gpu | FileCheck %s --check-prefix=ROWS
# A store that a mask takes apart is made of neighbours by neighbouring threads: of each fourth element it would leave gaps. What is loaded with it lies likewise.
import triton
import triton.language as tl


# CHECK-COUNT-8: ld.global.{{b8|u8}}
# CHECK-COUNT-8: st.global.b32
# CHECK-NOT: st.global
@triton.jit
def masked(x_ptr, y_ptr, mask_ptr, n):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    keeps = tl.load(mask_ptr + i, mask=i < n) == 0
    x = tl.load(x_ptr + i, mask=keeps & (i < n))
    tl.store(y_ptr + i, x * 2, mask=keeps & (i < n))


# Eight rows of two lines that a loop reduces: each lies in one of the eight warps, with no exchange through shared memory.
# ROWS: warp = {{\[\[1, 0\], \[2, 0\], \[4, 0\]\]}}
# ROWS: tile.scan
@triton.jit
def sampled(x_ptr, y_ptr, stride, N):
    i = tl.arange(0, 8)
    j = tl.arange(0, 128)
    sums = tl.zeros([8], tl.float32)
    most = tl.zeros([8], tl.int32)
    for start in range(0, N, 128):
        x = tl.load(x_ptr + i[:, None] * stride + start + j[None, :])
        sums += tl.max(tl.cumsum(x, 1), 1)
        most = tl.maximum(most, tl.argmax(x, 1))
    tl.store(y_ptr + i, most + (sums > 1))
