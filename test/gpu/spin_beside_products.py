# RUN: nereid compile %s:handed_on --signature "*fp16:16, *fp16:16, *fp32:16, *i32:16, i32:16, i32:16, i32" --num-stages 3 --target sm_90a --emit ptx | FileCheck %s
# One thread's result of an atomic is handed to all without a branch, behind the barrier at which memory is released. With a branch
# the assembler takes no number of the loops around for uniform, and moves four halves of descriptors for each product of the steps.
import triton
import triton.language as tl


# CHECK: atom.global.acq_rel.gpu.cas.b32
# CHECK-NOT: {{bra|bar.sync}}
# CHECK: @{{%p[0-9]+}} st.shared.b32 [{{%r[0-9]+}}], {{%r[0-9]+}};
# CHECK-NOT: bra
# CHECK: bar.sync
# CHECK-NEXT: ld.shared.u32
@triton.jit
def handed_on(a_ptr, b_ptr, c_ptr, locks_ptr, N, K, STEPS):
    i, j, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 32)
    first = tl.program_id(0) * STEPS
    last = first + STEPS
    steps = K // 32
    while first < last:
        end = tl.minimum(first + steps - first % steps, last)
        tile = first // steps
        a = a_ptr + (tile * 128 + i[:, None]) * K + k[None, :] + 32 * (first % steps)
        b = b_ptr + k[:, None] * N + j[None, :] + 32 * N * (first % steps)
        acc = tl.zeros([128, 128], dtype=tl.float32)
        for _ in range(first, end):
            acc += tl.dot(tl.load(a), tl.load(b))
            a += 32
            b += 32 * N
        c = c_ptr + (tile * 128 + i[:, None]) * N + j[None, :]
        if end % steps == 0:
            tl.store(c, acc)
            if first % steps != 0:
                tl.atomic_xchg(locks_ptr + tile, 1)
        else:
            while tl.atomic_cas(locks_ptr + tile, 1, 1) != 1:
                pass
            tl.atomic_add(c, acc)
        first = end
