# RUN: nereid compile %s:columns --signature "*fp16:16, *fp16:16, *fp32:16, i32" --target sm_90a --emit ptx | FileCheck %s
# Sums of columns of a product that a loop adds up: no shuffle and no barrier of theirs in a step (the two are the copies'), one exchange behind the loop.
# CHECK: wgmma.mma_async
# CHECK-NOT: shfl
# CHECK-NOT: bar.sync
# CHECK: bra
# CHECK: shfl
# CHECK: bar.sync
import triton
import triton.language as tl


@triton.jit
def columns(q, k, out, steps):
    i = tl.arange(0, 64)
    right = tl.load(k + i[:, None] * 64 + i[None, :])
    total = tl.zeros([64], tl.float32)
    for step in range(steps):
        left = tl.load(q + step * 4096 + i[:, None] * 64 + i[None, :])
        total += tl.sum(tl.exp2(tl.dot(left, right)), axis=0)
    tl.store(out + i, total)
