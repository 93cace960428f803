# RUN: nereid compile %s:waits --signature "*fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix PTX
# RUN: nereid compile %s:waits --signature "*fp32:16" --target sm_80 --emit ptx | FileCheck %s --check-prefix OLDER
# RUN: nereid inspect %s:waits --signature "*fp32:16" --target sm_90a --json | FileCheck %s --check-prefix PLAIN
# RUN: nereid inspect %s:waits --signature "*fp32:16" --target sm_90a --json --launch-pdl --launch-cooperative-grid | FileCheck %s --check-prefix BOTH
# RUN: nereid inspect %s:waits --signature "*fp32:16" --target sm_80 --json --launch-pdl | FileCheck %s --check-prefix PLAIN
# RUN: nereid inspect %s:in_assembly --signature "*fp32:16" --target sm_90a --json --launch-pdl | FileCheck %s --check-prefix PDL
# RUN: nereid inspect %s:lets_go --signature "*fp32:16" --target sm_90a --json --launch-pdl 2>&1 | FileCheck %s --check-prefix ALONE
# Programmatic dependent launch: what is before the wait may run beside the grid that was launched before, what is behind
# it may not. A kernel that does not wait by itself is never launched early.
import triton
import triton.language as tl


# PTX: griddepcontrol.wait
# PTX: ld.global
# PTX: griddepcontrol.launch_dependents
# PTX: st.global
# OLDER-NOT: griddepcontrol
# OLDER: st.global
# PLAIN: "launch":[]
# BOTH: "launch":["pdl","cooperative_grid"]
@triton.jit
def waits(x):
    i = tl.arange(0, 128)
    tl.extra.cuda.gdc_wait()
    v = tl.load(x + i)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(x + i, v + 1)


# PDL: "launch":["pdl"]
@triton.jit
def in_assembly(x):
    i = tl.arange(0, 128)
    tl.inline_asm_elementwise("griddepcontrol.wait; mov.u32 $0, $1;", "=r,r", [i], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(x + i, tl.load(x + i) + 1)


# ALONE: grid_dependency.py:[[#@LINE+3]]:{{.*}} note: `launch_pdl` changes nothing: {{.*}}IgnoredOption
# ALONE: "launch":[]
@triton.jit
def lets_go(x):
    i = tl.arange(0, 128)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(x + i, tl.load(x + i) + 1)
