# RUN: nereid compile %s:matmul --signature "*bf16:16, *bf16:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix WGMMA
# RUN: nereid compile %s:matmul --signature "*bf16:16, *bf16:16, *fp32:16, i32:16" --target sm_80 --emit ptx | FileCheck %s --check-prefix MMA
# RUN: nereid compile %s:twice --signature "*bf16:16, *bf16:16, *bf16:16, *fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix REGISTERS
# Products of bf16 have their own instructions; one whose left operand was computed takes it from registers.
import triton
import triton.language as tl


# Both operands by descriptors of shared memory.
# WGMMA-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{[^}]*}}}, a, b, {{p|first}}, 1, 1, 0, 1;
# WGMMA-NOT: mma.sync
# MMA: ldmatrix.sync.aligned.m8n8.x4.shared.b16
# MMA: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
# MMA: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
@triton.jit
def matmul(x, y, z, n):
    i = tl.arange(0, 64)[:, None]
    j = tl.arange(0, 64)[None, :]
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for start in range(0, n, 64):
        acc = tl.dot(tl.load(x + i * 4096 + start + j), tl.load(y + (start + i) * 64 + j), acc)
    tl.store(z + i * 64 + j, acc)


# REGISTERS: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{[^}]*}}}, a, b, first, 1, 1, 0, 1;
# REGISTERS-COUNT-32: cvt.rn.bf16.f32
# REGISTERS: mov.b32 %r{{[0-9]+}}, {%rs1, %rs2};
# REGISTERS-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{[^}]*}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, b, {{p|first}}, 1, 1, 1;
@triton.jit
def twice(x, y, z, out):
    i = tl.arange(0, 64)[:, None]
    j = tl.arange(0, 64)[None, :]
    first = tl.dot(tl.load(x + i * 64 + j), tl.load(y + i * 64 + j))
    tl.store(out + i * 64 + j, tl.dot(first.to(tl.bfloat16), tl.load(z + i * 64 + j)))
