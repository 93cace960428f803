# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, 0" --target sm_90a --emit gpu | FileCheck %s --check-prefix ALWAYS
# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, 1" --target sm_90a --emit gpu | FileCheck %s --check-prefix ASKED
# A condition that holds in all steps makes no branch: the product's operands come ahead of it.
import triton
import triton.language as tl


# ALWAYS-COUNT-2: tilegpu.ring
# ALWAYS: scf.for
# ALWAYS-NOT: scf.if
# ALWAYS: tile.dot
# ALWAYS: tilegpu.copy_async
# ASKED-NOT: tilegpu.ring
# ASKED: scf.for
# ASKED: scf.if
# ASKED: tile.dot
@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, FROM: tl.constexpr):
    i, j, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for step in range(0, K // 64):
        a = tl.load(a_ptr + i[:, None] * K + step * 64 + k[None, :])
        b = tl.load(b_ptr + (step * 64 + k[:, None]) * 64 + j[None, :])
        if step >= FROM:
            acc += tl.dot(a, b)
    tl.store(c_ptr + i[:, None] * 64 + j[None, :], acc.to(tl.float16))
