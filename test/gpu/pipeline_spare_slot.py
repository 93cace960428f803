# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s
# A block has the multiprocessor to itself with three slots and with four: the fourth spares the barrier between
# products in flight and the next copies.
import triton
import triton.language as tl


# CHECK: tilegpu.ring : <4, tensor<128x64xf16
# CHECK: tilegpu.ring : <4, tensor<64x256xf16
# CHECK: scf.for
# CHECK: tile.dot {{.*}}tilegpu.pending = 1
# CHECK-NOT: tile.barrier
# CHECK: scf.yield
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K):
    m = tl.arange(0, 128)
    n = tl.arange(0, 256)
    k = tl.arange(0, 64)
    a = a_ptr + m[:, None] * K + k[None, :]
    b = b_ptr + k[:, None] * 256 + n[None, :]
    acc = tl.zeros([128, 256], dtype=tl.float32)
    for start in range(0, K, 64):
        acc = tl.dot(tl.load(a), tl.load(b), acc)
        a += 64
        b += 64 * 256
    tl.store(c_ptr + m[:, None] * 256 + n[None, :], acc)
