# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp32:16, i32:8" --target sm_90a --emit ptx --num-stages 3 | FileCheck %s --check-prefix=WITHIN
# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit ptx --num-stages 3 | FileCheck %s --check-prefix=WHOLE
# RUN: nereid compile %s:product --signature "*fp32:16, *fp32:16, *fp32:16, i32:4" --target sm_90a --emit ptx --num-stages 3 | FileCheck %s --check-prefix=WITHIN
# RUN: nereid compile %s:product --signature "*fp32:16, *fp32:16, *fp32:16, i32:8" --target sm_90a --emit ptx --num-stages 3 | FileCheck %s --check-prefix=WHOLE
# RUN: nereid compile %s:product --signature "*fp8e4nv:16, *fp8e4nv:16, *fp32:16, i32:16" --target sm_90a --emit ptx --num-stages 3 | FileCheck %s --check-prefix=WHOLE
# Rows of 8 halves, or of 4 floats, more than a whole number of sectors (32 bytes): pieces of 16 bytes of every second row
# read the halves of sectors, which are there for the next piece if the copy goes through the first-level cache. A thread
# asks once a step whether its rows are of those. Numbers that are multiples of 16 are taken for multiples of 32 here.
import triton
import triton.language as tl


# WITHIN: and.b32 %{{.*}}, 31;
# WITHIN: setp.{{eq|ne}}.s32
# WITHIN: @%{{p.*}} cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %{{.*}}; @%{{p.*}} cp.async.ca.shared.global [{{.*}}], [{{.*}}], 16,
# WITHIN-NOT: {{^[[:space:]]}}cp.async.{{c[ag]}}

# WHOLE: {{^[[:space:]]}}cp.async.cg.shared.global
# WHOLE-NOT: cp.async.ca
@triton.jit
def product(x, y, out, n):
    i = tl.arange(0, 64)
    total = tl.zeros((64, 64), tl.float32)
    for k in range(0, n, 64):
        a = tl.load(x + i[:, None] * n + k + i[None, :])
        b = tl.load(y + i[:, None] * n + k + i[None, :])
        total += tl.dot(a, b.T)
    tl.store(out + i[:, None] * 64 + i[None, :], total)
