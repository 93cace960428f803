# RUN: nereid compile %s:softmax --signature "*fp32:16, *fp32:16, 4096" --num-warps 8 --target sm_90a --emit ptx | FileCheck %s --check-prefix ROW
# RUN: nereid compile %s:in_branch --signature "*fp32:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix BRANCH
# RUN: nereid compile %s:after_loop --signature "*fp32:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix LOOP
# What an op puts into the scratch area lies apart from what the op before it in the block has there: the barrier that each has anyhow is enough.
import triton
import triton.language as tl


# The third begins where the first did: the barrier of the second is between them.
# ROW: st.shared.f32 	[%rd[[A:[0-9]+]]],
# ROW: bar.sync
# ROW: ld.shared.v4.f32 {{.*}}, [nereid_shared];
# ROW-NOT: bar.sync
# ROW: st.shared.f32 	[%rd{{[0-9]+}}],
# ROW: bar.sync
# ROW: ld.shared.v4.f32 {{.*}}, [nereid_shared+128];
# ROW-NOT: bar.sync
# ROW: st.shared.f32 	[%rd[[A]]],
# ROW: bar.sync
# ROW-NOT: bar.sync
# ROW: ret
@triton.jit
def softmax(x, y, N: tl.constexpr):
    columns = tl.arange(0, N)
    value = tl.load(x + columns)
    e = tl.exp(value - tl.max(value))
    e = e / tl.sum(e)
    tl.store(y + columns, e / tl.max(e))


# Nobody has used the area where the branch begins; whether it was taken is unknown behind it.
# BRANCH: setp
# BRANCH-NOT: bar.sync
# BRANCH: st.shared
# BRANCH: bar.sync
# BRANCH-NOT: st.shared
# BRANCH: bar.sync
# BRANCH: st.shared
# BRANCH: bar.sync
# BRANCH-NOT: bar.sync
# BRANCH: ret
@triton.jit
def in_branch(x, y, n):
    columns = tl.arange(0, 1024)
    value = tl.load(x + columns)
    if n > 3:
        value -= tl.max(value)
    tl.store(y + columns, value / tl.sum(value))


# A step's first use meets what the step before reads.
# LOOP: $L__BB0_[[HEAD:[0-9]+]]:
# LOOP: bar.sync
# LOOP: st.shared
# LOOP: bar.sync
# LOOP: bra {{.*}}$L__BB0_[[HEAD]]
# LOOP: bar.sync
# LOOP-NEXT: st.shared
# LOOP-NEXT: bar.sync
# LOOP-NOT: bar.sync
# LOOP: ret
@triton.jit
def after_loop(x, y, n):
    columns = tl.arange(0, 1024)
    value = tl.load(x + columns)
    for i in range(n):
        value = value / tl.max(tl.abs(value + i))
    tl.store(y + columns, value - tl.sum(value))
