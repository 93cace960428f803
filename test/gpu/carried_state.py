# RUN: nereid compile %s:recurrence --signature "*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s
# A state that a loop carries lies as it is loaded and stored, not as one of the vectors that update it, and each thread loads what it needs of those.
import triton
import triton.language as tl


# CHECK: #[[STATE:layout[0-9]*]] = #tilegpu.layout<2, register = {{\[}}[1, 0], [2, 0], [0, 8], [0, 16], [0, 32]]
# CHECK: scf.for {{.*}} -> (tensor<64x64xf32, #[[STATE]]>
# CHECK-COUNT-3: tile.load
# CHECK-NOT: convert_layout
# CHECK: tile.reduce{{.*}} #[[STATE]]>)
# CHECK: scf.yield
@triton.jit
def recurrence(q_ptr, k_ptr, v_ptr, h_ptr, o_ptr, T):
    i = tl.arange(0, 64)
    state = h_ptr + i[None, :] * 64 + i[:, None]
    h = tl.load(state)
    for t in range(T):
        k = tl.load(k_ptr + t * 64 + i)
        v = tl.load(v_ptr + t * 64 + i)
        q = tl.load(q_ptr + t * 64 + i) * 0.125
        h = h * 0.5 + k[None, :] * v[:, None]
        tl.store(o_ptr + t * 64 + i, tl.sum(h * q[None, :], axis=1))
    tl.store(state, h)
