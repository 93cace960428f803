# RUN: nereid compile %s:window --signature "*fp16:16, *fp16:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:causal --signature "*fp16:16, *fp16:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:dropout --signature "*fp16:16, *fp16:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s
# What is compared or chosen element by element lies as the sums that it meets, and so do their rows: only the greatest of each moves, to where
# it is stored.
# CHECK-NOT: tilegpu.convert_layout
# CHECK: tile.dot
# CHECK-NOT: tilegpu.convert_layout
# CHECK: tile.reduce
# CHECK: tilegpu.convert_layout %{{.*}} : tensor<64xf32
# CHECK-NOT: tilegpu.convert_layout
import triton
import triton.language as tl


@triton.jit
def window(q, k, out, size):
    m, n = tl.arange(0, 64), tl.arange(0, 64)
    distance = m[:, None] - n[None, :] + tl.program_id(0) * 64
    scores = tl.dot(tl.load(q + m[:, None] * 64 + n[None, :]), tl.load(k + n[:, None] + m[None, :] * 64))
    scores = tl.where((distance >= 0) & (distance < size), scores, -float("inf"))
    tl.store(out + m, tl.max(scores, 1))


@triton.jit
def causal(q, k, out, diagonal):
    m, n = tl.arange(0, 64), tl.arange(0, 64)
    if tl.program_id(0) == diagonal:
        bias = tl.where(m[:, None] >= n[None, :], 0.0, -float("inf"))
    else:
        bias = tl.zeros([64, 64], tl.float32)
    bias += tl.dot(tl.load(q + m[:, None] * 64 + n[None, :]), tl.load(k + n[:, None] + m[None, :] * 64))
    tl.store(out + m, tl.max(bias, 1))


@triton.jit
def dropout(q, k, out, seed):
    """The ten rounds behind a mask are a long way from the scores that it is for."""
    m, n = tl.arange(0, 64), tl.arange(0, 64)
    keep = tl.rand(seed, m[:, None] * 64 + n[None, :]) > 0.25
    scores = tl.dot(tl.load(q + m[:, None] * 64 + n[None, :]), tl.load(k + n[:, None] + m[None, :] * 64))
    tl.store(out + m, tl.max(tl.where(keep, scores, 0.0), 1))
