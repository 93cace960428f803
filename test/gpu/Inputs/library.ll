target triple = "nvptx64-nvidia-cuda"

@mine_state = addrspace(4) externally_initialized global i32 undef, align 4

declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.amdgcn.workitem.id.x()
declare float @llvm.fma.f32(float, float, float)
declare float @somewhere_else(float)

define float @near(float %x) {
  %y = call float @llvm.fma.f32(float %x, float %x, float 3.0)
  %state = load i32, ptr addrspace(4) @mine_state
  %number = sitofp i32 %state to float
  %sum = fadd float %y, %number
  ret float %sum
}

define float @far(float %x) noinline {
  %y = fmul float %x, 2.5
  ret float %y
}

define void @tick(ptr %place) {
  %old = atomicrmw add ptr %place, i32 1 monotonic
  ret void
}

define float @lost(float %x) {
  %y = call float @somewhere_else(float %x)
  ret float %y
}

define i32 @of_amd() {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  ret i32 %id
}

define i32 @lane() {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  ret i32 %id
}
