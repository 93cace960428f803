# RUN: nereid compile %s:summed --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, 16" --num-warps 1 --target sm_90a --emit gpu | FileCheck %s --check-prefix LONG
# RUN: nereid compile %s:summed --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, 1" --num-warps 1 --target sm_90a --emit gpu | FileCheck %s --check-prefix SHORT
# RUN: nereid compile %s:summed --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, 16" --num-warps 8 --target sm_90a --emit gpu | FileCheck %s --check-prefix SHORT
# A step that takes longer than its copies has two slots, where a third one would leave a multiprocessor fewer programs than its schedulers want.
import triton
import triton.language as tl


# LONG: tilegpu.ring : <2,
# SHORT: tilegpu.ring : <3,
@triton.jit
def summed(a_ptr, b_ptr, out_ptr, T, COUNT: tl.constexpr):
    i, j = tl.arange(0, 16), tl.arange(0, 128)
    total = tl.zeros([16, 16], dtype=tl.float32)
    for t in range(0, T, 128):
        a = tl.load(a_ptr + i[:, None] * T + t + j[None, :])
        b = tl.load(b_ptr + i[:, None] * T + t + j[None, :])
        for _ in tl.static_range(COUNT):
            a = tl.exp2(a)
        total += tl.dot(a, tl.trans(b), input_precision="tf32")
    tl.store(out_ptr + i[:, None] * 16 + i[None, :], total)
