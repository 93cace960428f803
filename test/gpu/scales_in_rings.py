# RUN: nereid compile %s:bytes --signature "*fp16:16, *i8:16, *fp16:16, *fp32:16, i32:16" --num-warps 8 --num-stages 3 --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:words --signature "*fp16:16, *i32:16, *fp16:16, *fp32:16, i32:16" --num-warps 4 --num-stages 3 --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:bytes --signature "*fp16:16, *i8:16, *fp16:16, *fp32:16, i32:16" --num-warps 8 --num-stages 3 --target sm_90a --emit ptx | %ptxas -arch=sm_90a -o /dev/null -
# RUN: nereid compile %s:words --signature "*fp16:16, *i32:16, *fp16:16, *fp32:16, i32:16" --num-warps 4 --num-stages 3 --target sm_90a --emit ptx | %ptxas -arch=sm_90a -o /dev/null -
# RUN: nereid compile %s:powers --signature "*bf16:16, *u8:16, *u8:16, *fp32:16, i32:16" --num-warps 8 --num-stages 3 --target sm_90a --emit gpu | FileCheck %s --check-prefix POWERS
# RUN: nereid inspect %root/kernels/matmul_microscaled/kernel.py:matmul_microscaled --signature "*fp8e4nv:16, *u8:16, *fp8e4nv:16, *u8:16, *bf16:16, i32:16, i32:16, i32:16, i32:16, i32:16, i32:16, 'e4m3', 'e4m3', 32, 128, 128, 64, 8" --num-warps 8 --num-stages 3 --target sm_90a | FileCheck %s --check-prefix PROGRAMS
# A step that computes its right operand takes turns with its product, so that another program is worth some registers (ptxas: 147).
# PROGRAMS: registers 12{{[0-8]}} a thread, spills 0 B stored
# PROGRAMS: occupancy 2 programs
# A row of scales has a half for each thread, which no copy takes. It lies as the weights that it meets, eight in a thread: it waits in a ring as they do, and does not
# move between threads in each step. Weights may be taken apart of words.
# REQUIRES: ptxas
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK-NOT: convert_layout
# CHECK-COUNT-3: tilegpu.copy_async {{.*}} vector {{[1-9][0-9]*}} : <3,
# CHECK-COUNT-3: tilegpu.read_slot
# CHECK-NOT: convert_layout
# CHECK: tile.dot
@triton.jit
def bytes(x, w, scale, out, K):
    i, j, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros([128, 128], dtype=tl.float32)
    for t in range(0, K, 64):
        left = tl.load(x + i[:, None] * K + t + k[None, :])
        right = tl.load(w + (t + k)[:, None] * 128 + j[None, :])
        row = tl.load(scale + t // 64 * 128 + j)
        total = tl.dot(left, right.to(tl.float16) * row[None, :], total)
    tl.store(out + i[:, None] * 128 + j[None, :], total)


@triton.jit
def words(x, w, scale, out, K):
    i, j, k = tl.arange(0, 32), tl.arange(0, 32), tl.arange(0, 32)
    shift = tl.reshape(tl.broadcast_to((tl.arange(0, 8) * 4)[None, :], (32 * 4, 8)), (32, 32))
    total = tl.zeros([32, 32], dtype=tl.float32)
    for t in range(0, K, 32):
        left = tl.load(x + i[:, None] * K + t + k[None, :])
        word = tl.load(w + (t + k)[:, None] * 4 + tl.arange(0, 4)[None, :])
        word = tl.interleave(word, word)
        word = tl.interleave(word, word)
        word = tl.interleave(word, word)
        row = tl.load(scale + t // 32 * 32 + j)
        total = tl.dot(left, ((word >> shift) & 15) * row[None, :], total)
    tl.store(out + i[:, None] * 32 + j[None, :], total)


# Scales of which a thread has single bytes are loaded where they are multiplied: what makes numbers of them (selections, too) and repeats them is on the way.
# POWERS: scf.for
# POWERS-NOT: convert_layout
# POWERS: tile.load {{.*}}xi8
# POWERS-NOT: convert_layout
# POWERS: tile.dot
@triton.jit
def powers(x, w, scale, out, K):
    i, j, k, half = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 32)
    total = tl.zeros([128, 128], dtype=tl.float32)
    for t in range(0, K, 64):
        left = tl.load(x + i[:, None] * K + t + k[None, :])
        codes = tl.load(w + j[None, :] * (K // 2) + t // 2 + half[:, None])
        scales = tl.load(scale + j[:, None] * (K // 32) + t // 32 + tl.arange(0, 2)[None, :])
        total = tl.dot_scaled(left, None, "bf16", codes, scales, "e2m1", total)
    tl.store(out + i[:, None] * 128 + j[None, :], total)
