# RUN: nereid compile %s:scaled --signature "*fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16" --num-warps 2 --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:scaled --signature "*fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16" --num-warps 2 --target sm_90a --emit ptx | FileCheck %s --check-prefix PTX
# Operands of words that are computed of halves in a ring are computed in the fragments of their product, whichever way they lie: no word goes through shared memory by itself.
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: tilegpu.read_slot {{.*}} -> tensor<32x64xf16, #[[RIGHT:layout[0-9]*]]>
# CHECK: tilegpu.read_slot {{.*}} -> tensor<32x64xf16, #[[LEFT:layout[0-9]*]]>
# CHECK: tile.dot {{.*}} tilegpu.neighbours = 2 : i32}
# CHECK: scf.yield
# PTX: cp.async.wait_group
# PTX-NOT: st.shared.f32
# PTX: ldmatrix.sync.aligned.m8n8.x4.trans
# PTX-NOT: st.shared.f32
# PTX: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
# PTX: ret;
@triton.jit
def scaled(q_ptr, k_ptr, g_ptr, out_ptr, T):
    i, d = tl.arange(0, 32), tl.arange(0, 64)
    total = tl.zeros([64, 64], dtype=tl.float32)
    for t in range(0, T, 32):
        q = tl.load(q_ptr + (t + i)[:, None] * 64 + d[None, :])
        k = tl.load(k_ptr + (t + i)[:, None] * 64 + d[None, :])
        g = tl.load(g_ptr + t + i)
        total += tl.dot(tl.trans(q.to(tl.float32) * g[:, None]), k.to(tl.float32), input_precision="tf32")
    tl.store(out_ptr + d[:, None] * 64 + d[None, :], total)
