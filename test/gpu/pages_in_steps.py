# RUN: nereid compile %s:decode --signature "*fp16:16, *fp16:16, *i32:16, *fp32:16, i32, i64:16, 16, 128" --target sm_90a --emit ptx | FileCheck %s
# A page of keys a step, whose number is one number; the last step alone has a mask. Keys of all others are copied ahead,
# 16 bytes at once along their tokens, and the numbers of their pages are loaded a step before.
import triton
import triton.language as tl


# CHECK: ld.global{{.*}}.b32
# CHECK: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16
# CHECK: $L__BB0_{{.*}}:
# CHECK: cp.async.wait_group
# CHECK: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16
# CHECK: mma.sync
# CHECK: bra
# CHECK: ld.global{{.*}}.b16
# CHECK: mma.sync
@triton.jit
def decode(q, keys, table, out, n, stride, PAGE: tl.constexpr, D: tl.constexpr):
    row, d, at = tl.arange(0, 16), tl.arange(0, D), tl.arange(0, PAGE)
    query = tl.load(q + row[:, None] * D + d[None, :])
    total = tl.zeros([16, PAGE], tl.float32)
    steps = tl.cdiv(n, PAGE)
    for j in range(steps):
        token = j * PAGE + at
        page = tl.load(table + token // PAGE)
        place = keys + page[None, :] * stride + d[:, None] * PAGE + (token % PAGE)[None, :]
        if j == steps - 1:
            k = tl.load(place, mask=(token < n)[None, :], other=0.0)
        else:
            k = tl.load(place)
        total += tl.dot(query, k)
    tl.store(out + row[:, None] * PAGE + at[None, :], total)
