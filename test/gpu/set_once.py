# RUN: nereid compile %s:sums --signature "*fp16:16, *fp32:16, i32:16, 2048" --target sm_90a --emit ptx | FileCheck %s
# What the assembler need not find out again: what a loop that may run no step begins with is set once, in front of the
# branch past it, and both halves of a word are taken out by one instruction.
import triton
import triton.language as tl


# CHECK-COUNT-15: mov.f32 %f{{[0-9]+}}, 0f00000000;
# CHECK: mov.f32 [[SUM:%f[0-9]+]], 0f00000000;
# CHECK: @%p{{[0-9]+}} bra
# CHECK-NOT: mov.f32
# CHECK: mov.b32 {%rs{{[0-9]+}}, %rs{{[0-9]+}}}, %r
# CHECK-NOT: {{mov.f32|\.reg \.b16 tmp}}
# CHECK: add.f32 [[SUM]], [[SUM]], %f
# CHECK-NOT: mov.f32
# CHECK: shfl
@triton.jit
def sums(x, y, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        total += tl.load(x + start + columns, mask=start + columns < N, other=0.0)
    tl.store(y, tl.sum(total, axis=0))
