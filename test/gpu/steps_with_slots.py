# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp16:16, 128" --num-stages 3 --target sm_90a --emit gpu | FileCheck %s --check-prefix TWO
# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp16:16, 192" --num-stages 4 --target sm_90a --emit gpu | FileCheck %s --check-prefix THREE
# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp16:16, 256" --num-stages 3 --target sm_90a --emit gpu | FileCheck %s --check-prefix MORE
# There are no more slots than steps; where each step has one, all copies start before the first step, and none later.
import triton
import triton.language as tl


# TWO-COUNT-2: tilegpu.ring : <2,
# TWO-COUNT-4: tilegpu.copy_async
# TWO: scf.for
# TWO: tilegpu.wait_copies 1
# TWO-NOT: tilegpu.copy_async
# TWO: tilegpu.commit_copies
# TWO-NOT: tilegpu.copy_async
# TWO: tilegpu.drain
# THREE-COUNT-2: tilegpu.ring : <3,
# THREE-COUNT-6: tilegpu.copy_async
# THREE: scf.for
# THREE-NOT: tilegpu.copy_async
# THREE: tilegpu.drain
# MORE-COUNT-2: tilegpu.ring : <3,
# MORE-COUNT-4: tilegpu.copy_async
# MORE: scf.for
# MORE-COUNT-2: tilegpu.copy_async
# MORE: tilegpu.drain
@triton.jit
def product(a_ptr, b_ptr, c_ptr, K: tl.constexpr):
    i, j, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros([128, 128], dtype=tl.float32)
    for start in range(0, K, 64):
        a = tl.load(a_ptr + i[:, None] * K + start + k[None, :])
        b = tl.load(b_ptr + (start + k[:, None]) * 128 + j[None, :])
        acc += tl.dot(a, b)
    tl.store(c_ptr + i[:, None] * 128 + j[None, :], acc.to(tl.float16))
