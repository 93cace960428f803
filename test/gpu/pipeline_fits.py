# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, 256, 128, 64" --num-warps 8 --num-stages 3 --target sm_90a --emit gpu | FileCheck %s --check-prefix ASKED
# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, 256, 128, 64" --num-warps 8 --num-stages 8 --target sm_90a --emit gpu | FileCheck %s --check-prefix FEWER
# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, 256, 256, 256" --num-warps 8 --num-stages 3 --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, 256, 128, 64" --num-warps 8 --num-stages 8 --target sm_90a --emit ptx
# Rings have as many slots as `num_stages` asks for and as shared memory holds (227 KiB): of 48 KiB a step four. A step
# that does not fit twice is loaded when its turn comes.
import triton
import triton.language as tl


# ASKED: tilegpu.ring : <3, tensor<256x64xf16
# ASKED: tilegpu.ring : <3, tensor<64x128xf16
# FEWER: tilegpu.ring : <4, tensor<256x64xf16
# FEWER: tilegpu.ring : <4, tensor<64x128xf16
# NONE-NOT: tilegpu.ring
@triton.jit
def matmul(x, y, z, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    k = tl.arange(0, K)
    c = tl.arange(0, N)[None, :]
    acc = tl.zeros([M, N], dtype=tl.float32)
    for start in range(0, n, K):
        acc = tl.dot(tl.load(x + m * 4096 + start + k[None, :]), tl.load(y + (start + k[:, None]) * 4096 + c), acc)
    tl.store(z + m * 4096 + c, acc)
