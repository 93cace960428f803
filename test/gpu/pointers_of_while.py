# RUN: nereid compile %s:steps --signature "*bf16:16, i32, i32:16" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:steps --signature "*bf16:16, i32, i32" --target sm_90a --emit ptx | FileCheck %s --check-prefix=ODD
# A pointer that a `while` carries is as aligned as what each step adds to it.
import triton
import triton.language as tl


# CHECK: st.global.v4.b32
# CHECK-NOT: st.global.b16
# ODD-NOT: st.global.v
@triton.jit
def steps(y, n, stride):
    at = tl.arange(0, 1024)
    step = tl.program_id(0)
    while step < n:
        tl.store(y + at, (at + step).to(tl.bfloat16))
        y += stride
        step += tl.num_programs(0)
