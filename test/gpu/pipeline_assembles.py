# REQUIRES: ptxas
# RUN: nereid compile %s:attend --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_80 --emit cubin -o %t
# RUN: nereid compile %s:attend --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_86 --emit cubin -o %t
# RUN: nereid compile %s:attend --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_89 --emit cubin -o %t
# RUN: nereid compile %s:attend --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90 --emit cubin -o %t
# RUN: nereid compile %s:attend --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --emit ptx -o %t.ptx
# RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t 2>&1 | FileCheck %s --check-prefix=PTXAS
# RUN: nereid compile %s:attend --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --emit gpu | FileCheck %s
# Attention: no conversion in the loop, no spill, and no wgmma that waits for another without need.
import triton
import triton.language as tl


# PTXAS-NOT: serialized
# PTXAS: 0 bytes spill stores, 0 bytes spill loads
# PTXAS-NOT: serialized

# CHECK: scf.for
# CHECK-NOT: tilegpu.convert_layout
# CHECK-COUNT-2: tilegpu.copy_bulk
# CHECK-NOT: tilegpu.convert_layout
# CHECK: scf.yield
@triton.jit
def attend(q_ptr, k_ptr, v_ptr, o_ptr, N):
    i = tl.arange(0, 64)
    q = tl.load(q_ptr + i[:, None] * 64 + i[None, :])
    k_desc = tl.make_tensor_descriptor(k_ptr, [N, 64], [64, 1], [64, 64])
    v_desc = tl.make_tensor_descriptor(v_ptr, [N, 64], [64, 1], [64, 64])
    m = tl.full([64], -1.0e30, dtype=tl.float32)
    l = tl.zeros([64], dtype=tl.float32)
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for start in range(0, N, 64):
        s = tl.dot(q, tl.trans(k_desc.load([start, 0])))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        shrink = tl.exp2(m - m_new)
        p = tl.exp2(s - m_new[:, None])
        l = l * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p.to(tl.float16), v_desc.load([start, 0]), acc * shrink[:, None])
        m = m_new
    tl.store(o_ptr + i[:, None] * 64 + i[None, :], (acc / l[:, None]).to(tl.float16))
