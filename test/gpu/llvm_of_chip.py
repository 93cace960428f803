# RUN: nereid compile %s:scaled --signature "*fp32:16, *fp32:16, i32" --target sm_90a --emit llvm | FileCheck %s
# RUN: nereid compile %s:scaled --signature "*fp32:16, *fp32:16, i32" --target sm_80 --emit llvm | FileCheck %s
# RUN: nereid compile %s:scaled --signature "*fp32:16, *fp32:16, i32" --target sm_90a --emit nvvm | FileCheck %s --check-prefix NVVM
# What the code generator gets of a GPU's kernel: one function, one thread's work, after LLVM's optimiser.
import triton
import triton.language as tl


# CHECK: target triple = "nvptx64-nvidia-cuda"
# CHECK: define {{.*}}void @scaled(
# CHECK: call range(i32 0, 128) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
# CHECK: i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
# CHECK: asm sideeffect "{{.*}}ld.global
# CHECK: fmul
# CHECK: asm sideeffect "{{.*}}st.global
# CHECK-NOT: {{tile(gpu)?\.}}
# CHECK: !{{{.*}}@scaled, !"kernel", i32 1}
# NVVM: {{(llvm.func|func.func)}} @scaled
# NVVM: nvvm.read.ptx.sreg.tid.x
# NVVM-NOT: {{tile(gpu)?\.(load|store)}}
@triton.jit
def scaled(x, y, n):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 3, mask=i < n)
