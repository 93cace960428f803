# What is known of a launch says how often its loops run; types alone do not.
# RUN: nereid explain %s:total --arg "x=empty(4x3000,f32)" --arg "out=empty(4,f32)" --arg n=3000 --const BLOCK=128 --grid "(4,)" | FileCheck %s
# RUN: nereid explain %s:total --signature "*fp32, *fp32, i32, 128" --grid "(cdiv(n, BLOCK),)" | FileCheck %s --check-prefix=ONCE
# CHECK: load f32[128], reads 512 B, {{.*}}in a loop
# CHECK: one program: reads 12 KiB, writes 4 B, {{[0-9]+}} operations, {{[0-9.]+}} a byte; largest tile
# ONCE: one program: reads 512 B, writes 4 B, {{.*}} (loops whose length is not known count once)
import triton
import triton.language as tl


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        sums += tl.load(x + row * n + i, mask=i < n, other=0.0)
    tl.store(out + row, tl.sum(sums))
