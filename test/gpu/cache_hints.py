# REQUIRES: ptxas
# RUN: nereid compile %s:loads --signature "*fp32:16, *fp32:16" --target sm_90a --emit ptx -o %t.ptx
# RUN: FileCheck %s --input-file %t.ptx --check-prefix LOADS
# RUN: %ptxas -arch=sm_90a %t.ptx -o %t
# RUN: nereid compile %s:stores --signature "*fp32:16, *fp32:16" --target sm_90a --emit ptx -o %t.ptx
# RUN: FileCheck %s --input-file %t.ptx --check-prefix STORES
# RUN: %ptxas -arch=sm_90a %t.ptx -o %t
# RUN: nereid compile %s:both --signature "*fp32:16, *fp32:16" --target sm_90a --emit ptx -o %t.ptx
# RUN: FileCheck %s --input-file %t.ptx --check-prefix BOTH
# RUN: %ptxas -arch=sm_90a %t.ptx -o %t
# Hints of accesses reach the instructions. The instruction takes a cache operator or an eviction priority, not both:
# beside an operator that leaves the first-level cache out, or streams through it, there is nothing to evict. The second-level
# cache takes the priority by a policy, of copies to shared memory too.
# RUN: nereid compile %s:ring --signature "*fp16:16, *fp16:16, *fp32:16, i32" --target sm_90a --emit ptx -o %t.ptx
# RUN: FileCheck %s --input-file %t.ptx --check-prefix RING
# RUN: %ptxas -arch=sm_90a %t.ptx -o %t
import triton
import triton.language as tl


# LOADS: ld.global.v4.b32
# LOADS: ld.global.ca.v4.b32
# LOADS: ld.global.cg.v4.b32
# LOADS: ld.global.cs.v4.b32
# LOADS: ld.global.cv.v4.b32
# LOADS: createpolicy.fractional.L2::evict_first.b64 [[FIRST:%rd[0-9]+]], 1.0
# LOADS: ld.global.L1::evict_first.L2::cache_hint.v4.b32 {{.*}}, [[FIRST]];
# LOADS: createpolicy.fractional.L2::evict_last.b64 [[LAST:%rd[0-9]+]], 1.0
# LOADS: ld.global.L1::evict_last.L2::cache_hint.v4.b32 {{.*}}, [[LAST]];
# LOADS: ld.volatile.global.v4.b32
@triton.jit
def loads(x, y):
    i = tl.arange(0, 512)
    v = tl.load(x + i)
    v += tl.load(x + 512 + i, cache_modifier=".ca")
    v += tl.load(x + 1024 + i, cache_modifier=".cg")
    v += tl.load(x + 1536 + i, cache_modifier=".cs")
    v += tl.load(x + 2048 + i, cache_modifier=".cv")
    v += tl.load(x + 2560 + i, eviction_policy="evict_first")
    v += tl.load(x + 3072 + i, eviction_policy="evict_last")
    v += tl.load(x + 3584 + i, volatile=True)
    tl.store(y + i, v)


# STORES: st.global.v4.b32
# STORES: st.global.wb.v4.b32
# STORES: st.global.cg.v4.b32
# STORES: st.global.cs.v4.b32
# STORES: st.global.wt.v4.b32
# STORES: st.global.L1::evict_first.L2::cache_hint.v4.b32
# STORES: st.global.L1::evict_last.L2::cache_hint.v4.b32
@triton.jit
def stores(x, y):
    i = tl.arange(0, 512)
    v = tl.load(x + i)
    tl.store(y + i, v)
    tl.store(y + 512 + i, v, cache_modifier=".wb")
    tl.store(y + 1024 + i, v, cache_modifier=".cg")
    tl.store(y + 1536 + i, v, cache_modifier=".cs")
    tl.store(y + 2048 + i, v, cache_modifier=".wt")
    tl.store(y + 2560 + i, v, eviction_policy="evict_first")
    tl.store(y + 3072 + i, v, eviction_policy="evict_last")


# BOTH: ld.global.L1::evict_last.L2::cache_hint.v4.b32
# BOTH: ld.global.cg.L2::cache_hint.v4.b32
# BOTH: st.global.L1::evict_first.L2::cache_hint.v4.b32
# BOTH: st.global.cs.L2::cache_hint.v4.b32
@triton.jit
def both(x, y):
    i = tl.arange(0, 512)
    v = tl.load(x + i, cache_modifier=".ca", eviction_policy="evict_last")
    w = tl.load(x + 512 + i, cache_modifier=".cg", eviction_policy="evict_last")
    tl.store(y + i, v + w, cache_modifier=".wb", eviction_policy="evict_first")
    tl.store(y + 512 + i, v + w, cache_modifier=".cs", eviction_policy="evict_first")


# RING: cp.async.cg.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 16, %r{{[0-9]+}};
# RING: createpolicy.fractional.L2::evict_first.b64 [[POLICY:%rd[0-9]+]], 1.0
# RING: cp.async.cg.shared.global.L2::cache_hint [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 16, %r{{[0-9]+}}, [[POLICY]];
@triton.jit
def ring(a, b, out, n):
    i = tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, n, 64):
        left = tl.load(a + i[:, None] * 4096 + start + i[None, :])
        right = tl.load(b + (start + i)[:, None] * 64 + i[None, :], eviction_policy="evict_first")
        acc = tl.dot(left, right, acc)
    tl.store(out + i[:, None] * 64 + i[None, :], acc)
