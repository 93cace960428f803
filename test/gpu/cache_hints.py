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
# beside an operator that leaves the first-level cache out, or streams through it, there is nothing to evict.
import triton
import triton.language as tl


# LOADS: ld.global.v4.b32
# LOADS: ld.global.ca.v4.b32
# LOADS: ld.global.cg.v4.b32
# LOADS: ld.global.cs.v4.b32
# LOADS: ld.global.cv.v4.b32
# LOADS: ld.global.L1::evict_first.v4.b32
# LOADS: ld.global.L1::evict_last.v4.b32
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
# STORES: st.global.L1::evict_first.v4.b32
# STORES: st.global.L1::evict_last.v4.b32
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


# BOTH: ld.global.L1::evict_last.v4.b32
# BOTH: ld.global.cg.v4.b32
# BOTH: st.global.L1::evict_first.v4.b32
# BOTH: st.global.cs.v4.b32
@triton.jit
def both(x, y):
    i = tl.arange(0, 512)
    v = tl.load(x + i, cache_modifier=".ca", eviction_policy="evict_last")
    w = tl.load(x + 512 + i, cache_modifier=".cg", eviction_policy="evict_last")
    tl.store(y + i, v + w, cache_modifier=".wb", eviction_policy="evict_first")
    tl.store(y + 512 + i, v + w, cache_modifier=".cs", eviction_policy="evict_first")
