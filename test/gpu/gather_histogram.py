# RUN: nereid compile %s:counts --signature "*i32:16, *i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix COUNTS
# RUN: nereid compile %s:places --signature "*fp32:16, *i32:16, *fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix PLACES
# Counts are added in shared memory, a value beyond the bins to none; what is gathered is read from there.
import triton
import triton.language as tl


# 64 bins of 4 bytes are cleared before anybody counts.
# COUNTS: st.shared.u32
# COUNTS: bar.sync
# COUNTS-COUNT-4: @%p{{[0-9]+}} red.relaxed.cta.shared.add.u32 [%rd{{[0-9]+}}], 1;
# COUNTS: bar.sync
# COUNTS: ld.shared.u32
# COUNTS: st.global
@triton.jit
def counts(x, y):
    v = tl.load(x + tl.arange(0, 512))
    tl.store(y + tl.arange(0, 64), tl.histogram(v, 64))


# PLACES: ld.global.v4.b32
# PLACES: st.shared.v4
# PLACES: bar.sync
# PLACES-COUNT-4: ld.shared.{{[uf]}}32
# PLACES-NOT: ld.shared
# PLACES: st.global.v4.b32
@triton.jit
def places(x, at, y):
    i = tl.arange(0, 512)
    tl.store(y + i, tl.gather(tl.load(x + i), tl.load(at + i), 0))
