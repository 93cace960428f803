# RUN: nereid compile %s:one --signature "*i32:16, 'relaxed', 'cta'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=relaxed -DSCOPE=cta
# RUN: nereid compile %s:one --signature "*i32:16, 'relaxed', 'gpu'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=relaxed -DSCOPE=gpu
# RUN: nereid compile %s:one --signature "*i32:16, 'relaxed', 'sys'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=relaxed -DSCOPE=sys
# RUN: nereid compile %s:one --signature "*i32:16, 'acquire', 'cta'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=acquire -DSCOPE=cta
# RUN: nereid compile %s:one --signature "*i32:16, 'acquire', 'gpu'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=acquire -DSCOPE=gpu
# RUN: nereid compile %s:one --signature "*i32:16, 'acquire', 'sys'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=acquire -DSCOPE=sys
# RUN: nereid compile %s:one --signature "*i32:16, 'release', 'cta'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=release -DSCOPE=cta
# RUN: nereid compile %s:one --signature "*i32:16, 'release', 'gpu'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=release -DSCOPE=gpu
# RUN: nereid compile %s:one --signature "*i32:16, 'release', 'sys'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=release -DSCOPE=sys
# RUN: nereid compile %s:one --signature "*i32:16, 'acq_rel', 'cta'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=acq_rel -DSCOPE=cta
# RUN: nereid compile %s:one --signature "*i32:16, 'acq_rel', 'gpu'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=acq_rel -DSCOPE=gpu
# RUN: nereid compile %s:one --signature "*i32:16, 'acq_rel', 'sys'" --target sm_90a --emit ptx | FileCheck %s --check-prefix ONE -DSEM=acq_rel -DSCOPE=sys
# RUN: nereid compile %s:many --signature "*i32:16, 'acquire', 'cta'" --target sm_90a --emit ptx | FileCheck %s --check-prefix FENCED -DSCOPE=cta
# RUN: nereid compile %s:many --signature "*i32:16, 'release', 'sys'" --target sm_90a --emit ptx | FileCheck %s --check-prefix FENCED -DSCOPE=sys
# RUN: nereid compile %s:many --signature "*i32:16, 'acq_rel', 'gpu'" --target sm_90a --emit ptx | FileCheck %s --check-prefix FENCED -DSCOPE=gpu
# RUN: nereid compile %s:many --signature "*i32:16, 'relaxed', 'sys'" --target sm_90a --emit ptx | FileCheck %s --check-prefix RELAXED -DSCOPE=sys
# Order and scope of atomics reach the instruction; of a tile's they are said by fences around relaxed ones.
import triton
import triton.language as tl


# ONE-NOT: fence
# ONE: atom.global.[[SCOPE]].[[SEM]].add.u32
# ONE: atom.global.[[SEM]].[[SCOPE]].cas.b32
# ONE-NOT: {{fence|atom}}
# ONE: ret;
@triton.jit
def one(x, SEM: tl.constexpr, SCOPE: tl.constexpr):
    tl.store(x + 1, tl.atomic_add(x, 1, sem=SEM, scope=SCOPE))
    tl.store(x + 2, tl.atomic_cas(x, 0, 1, sem=SEM, scope=SCOPE))


# FENCED: fence.acq_rel.[[SCOPE]];
# FENCED-COUNT-4: atom.global.[[SCOPE]].relaxed.max.s32
# FENCED: fence.acq_rel.[[SCOPE]];
# FENCED-NOT: {{fence|atom}}
# FENCED: ret;
# RELAXED-NOT: fence
# RELAXED-COUNT-4: atom.global.[[SCOPE]].relaxed.max.s32
# RELAXED-NOT: {{fence|atom}}
# RELAXED: ret;
@triton.jit
def many(x, SEM: tl.constexpr, SCOPE: tl.constexpr):
    i = tl.arange(0, 512)
    tl.store(x + 512 + i, tl.atomic_max(x + i, 1, sem=SEM, scope=SCOPE))
