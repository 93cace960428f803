# RUN: nereid compile %s:unpacked --signature "*u8:16, *bf16:16, *bf16:16, i32:16, i32:16" --num-warps 8 --target sm_90a --emit gpu | FileCheck %s
# Two numbers share a byte, and bytes of a column are adjacent: a warp reads along the column, each thread a byte's two numbers, scales likewise.
import triton
import triton.language as tl


# CHECK: #[[PAIRS:layout[0-9]*]] = #tilegpu.layout<2, register = {{\[\[}}1, 0], [0, 8]{{.*}}, lane = {{\[\[}}2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], warp
# CHECK: tile.load {{.*}} -> tensor<64x128xi8, #[[PAIRS]]>
# CHECK: tile.load {{.*}} -> tensor<64x128xbf16, #[[PAIRS]]>
@triton.jit
def unpacked(b_ptr, scale_ptr, out_ptr, stride_bn, stride_sn):
    k, n = tl.arange(0, 64), tl.arange(0, 128)
    b = tl.load(b_ptr + (k // 2)[:, None] + n[None, :] * stride_bn)
    scale = tl.load(scale_ptr + (k // 128)[:, None] + n[None, :] * stride_sn)
    b = ((b >> (k % 2 * 4)[:, None]) & 15).to(tl.float32) * scale
    tl.store(out_ptr + k[:, None] * 128 + n[None, :], b.to(tl.bfloat16))
