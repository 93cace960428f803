# REQUIRES: ptxas
# RUN: nereid compile %s:add --signature "*bf16:16, *bf16:16, i32" --target sm_90a --emit ptx | FileCheck %s --check-prefix HOPPER
# RUN: nereid compile %s:add --signature "*bf16:16, *bf16:16, i32" --target sm_80 --emit ptx | FileCheck %s --check-prefix AMPERE
# RUN: nereid compile %s:add --signature "*bf16:16, *bf16:16, i32" --target sm_86 --emit cubin -o %t
# RUN: nereid compile %s:add --signature "*bf16:16, *bf16:16, i32" --target sm_89 --emit cubin -o %t
# Chips whose atomics do not add bf16 compare and swap until nobody comes between.
import triton
import triton.language as tl


# HOPPER: atom.global.{{.*}}.add.noftz.bf16
# HOPPER-NOT: cas
# AMPERE: add.rn.f32 {{.*}} cvt.rn.bf16.f32 {{.*}} atom.global.gpu.acq_rel.cas.b16
@triton.jit
def add(x_ptr, y_ptr, N):
    i = tl.arange(0, 128)
    tl.store(y_ptr + i, tl.atomic_add(x_ptr + i, 1.0, mask=i < N))
