# RUN: nereid compile %s:columns --signature "*fp16:16, *fp16:16, *fp32:16, i32" --target sm_90a --emit ptx | FileCheck %s
# Sums of columns of a product that a loop adds up: no shuffle and no barrier of theirs in a step (the two are the copies'), one exchange behind the loop.
# CHECK: wgmma.mma_async
# CHECK-NOT: shfl
# CHECK-NOT: bar.sync
# CHECK: bra
# CHECK: shfl
# CHECK: bar.sync
# RUN: nereid compile %s:turned --signature "*fp32:16, *fp32:16, i32" --target sm_90a --emit ptx | FileCheck %s --check-prefix TURNED
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


# A sum that is turned over on its way to what is carried meets behind the loop, too.
# TURNED: ld.global.v4
# TURNED-NOT: {{shfl|bar.sync}}
# TURNED: bra
# TURNED: shfl
@triton.jit
def turned(x, out, steps):
    i = tl.arange(0, 16)
    total = tl.zeros([16, 16], tl.float32)
    for step in range(steps):
        v = tl.load(x + step * 4096 + i[:, None, None] * 256 + i[None, :, None] * 16 + i[None, None, :])
        total += tl.trans(tl.sum(v, 2))
    tl.store(out + i[:, None] * 16 + i[None, :], total)
