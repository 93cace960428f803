# RUN: nereid compile %s:weighted --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, 512" --target sm_90a --emit ptx | FileCheck %s
# Three rows that are walked along together have one offset, computed in each step: no pointer counts along.
import triton
import triton.language as tl


# CHECK: $L__BB0_[[LOOP:[0-9]+]]:
# CHECK: mul.wide.s32 [[OFFSET:%rd[0-9]+]], %r{{[0-9]+}}, 4;
# CHECK-NOT: {{mul.wide|2048}}
# CHECK: add.s64 %rd{{[0-9]+}}, %rd{{[0-9]+}}, [[OFFSET]];
# CHECK-NOT: {{mul.wide|2048}}
# CHECK: add.s64 %rd{{[0-9]+}}, %rd{{[0-9]+}}, [[OFFSET]];
# CHECK-NOT: {{mul.wide|2048}}
# CHECK: add.s64 %rd{{[0-9]+}}, %rd{{[0-9]+}}, [[OFFSET]];
# CHECK-NOT: {{mul.wide|2048}}
# CHECK: bra $L__BB0_[[LOOP]];
@triton.jit
def weighted(x, w, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0) * N
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < N
        value = tl.load(x + row + columns, mask=inside) * tl.load(w + columns, mask=inside)
        tl.store(y + row + columns, value, mask=inside)
