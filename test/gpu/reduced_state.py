# RUN: nereid compile %s:recurrent --signature "*bf16:16, *bf16:16, *fp32:16, *bf16:16, i32" --const D=128 --const N=32 --target sm_90a --emit ptx | FileCheck %s
# The state of a recurrence, which no access touches: a thread holds a piece of a column, so that sums of columns take no
# shuffle. What all columns meet is loaded as threads want it, a step ahead, though each step stores through another of the
# pointers that the loop carries; what moves through shared memory is exponentiated first, an element a thread.
import triton
import triton.language as tl


# The first step's rows come before the loop.
# CHECK: ld.global.v4.b32
# CHECK: $L__BB0_{{[0-9]+}}:
# CHECK-NOT: shfl
# CHECK: ld.global.v4.b32
# CHECK: ex2.approx
# CHECK-NOT: ex2
# CHECK-NOT: shfl
# CHECK: st.global
# CHECK: bra
@triton.jit
def recurrent(k, v, gate, out, T, D: tl.constexpr, N: tl.constexpr):
    p_k = k + tl.arange(0, D)
    p_v = v + tl.arange(0, N)
    p_gate = gate + tl.arange(0, D)
    p_out = out + tl.arange(0, N)
    state = tl.zeros([D, N], tl.float32)
    for _ in tl.range(0, T, num_stages=2):
        key = tl.load(p_k).to(tl.float32)
        state *= tl.exp(tl.load(p_gate)[:, None])
        change = tl.load(p_v).to(tl.float32) - tl.sum(state * key[:, None], 0)
        state += key[:, None] * change[None, :]
        tl.store(p_out, tl.sum(state * key[:, None], 0).to(tl.bfloat16))
        p_k += D
        p_v += N
        p_gate += D
        p_out += N
