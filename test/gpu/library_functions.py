# Functions of LLVM bitcode become part of the code: small ones are inlined, others called; what has effects stays in its place and its loop.
# RUN: nereid compile %s:kernel --signature "*fp32:16, *i32:16, i32" --target sm_90a --extern-lib mine=%S/Inputs/library.ll --emit ptx | FileCheck %s
# RUN: nereid compile %s:kernel --signature "*fp32:16, *i32:16, i32" --target sm_90a --extern-lib mine=%S/Inputs/library.ll --emit tile | FileCheck %s --check-prefix=TILE
# RUN: llvm-as %S/Inputs/library.ll -o %t.bc
# RUN: nereid compile %s:kernel --signature "*fp32:16, *i32:16, i32" --target sm_90a --extern-lib other=%t.bc --emit ptx | FileCheck %s
# RUN: not nereid compile %s:kernel --signature "*fp32:16, *i32:16, i32" --target cpu --extern-lib mine=%S/Inputs/library.ll --emit asm 2>&1 | FileCheck %s --check-prefix=CPU
# RUN: not nereid compile %s:asks_for_lost --signature "*fp32:16" --target sm_90a --extern-lib mine=%S/Inputs/library.ll --emit ptx 2>&1 | FileCheck %s --check-prefix=LOST
# RUN: not nereid compile %s:asks_for_amd --signature "*i32:16" --target sm_90a --extern-lib mine=%S/Inputs/library.ll --emit ptx 2>&1 | FileCheck %s --check-prefix=AMD
# RUN: not nereid compile %s:asks_for_lane --signature "*i32:16" --target cpu --extern-lib mine=%S/Inputs/library.ll --emit asm 2>&1 | FileCheck %s --check-prefix=LANE
# RUN: not nereid compile %s:tick --signature "*i32:16" --target sm_90a --extern-lib mine=%S/Inputs/library.ll --emit ptx 2>&1 | FileCheck %s --check-prefix=NAME
# RUN: not nereid run %s:asks_for_lane --arg p=zeros(1,i32) --device ref --extern-lib mine=%S/Inputs/library.ll 2>&1 | FileCheck %s --check-prefix=REF
import triton
import triton.language as tl
from triton.language import core


@core.extern
def near(x, _semantic=None):
    return core.extern_elementwise("mine", "", [x], {(core.float32, ): ("near", core.float32)}, is_pure=True, _semantic=_semantic)


@core.extern
def far(x, _semantic=None):
    return core.extern_elementwise("mine", "", [x], {(core.float32, ): ("far", core.float32)}, is_pure=True, _semantic=_semantic)


@core.extern
def count_on(place, _semantic=None):
    return core.extern_elementwise("mine", "", [place], {(core.pointer_type(core.int32), ): ("tick", core.int32)}, is_pure=False, _semantic=_semantic)


# What programs find by its name in the module.
# CHECK-DAG: .visible .const .align 4 .u32 mine_state;
# CHECK-DAG: .func {{.*}}far
# CHECK-LABEL: .visible .entry kernel
# CHECK: fma.rn.f32 {{.*}}, 0f40400000
# CHECK: ld.const.u32
# CHECK: call.uni {{.*}}
# CHECK-NEXT: far
# The loop keeps the call that nobody reads.
# CHECK: [[LOOP:\$L__BB[0-9_]+]]:
# CHECK: atom.{{.*}}add
# CHECK: bra [[LOOP]]
# TILE: module attributes {{.*}}tile.libraries = [{{.*}}library.ll"]
# TILE: tile.library_call "near" of "mine" "" pure true(%{{.*}}) : (tensor<128xf32>) -> tensor<128xf32>
# TILE: tile.library_call "tick" of "mine" "" pure false(%{{.*}}) : (!tile.ptr<i32>) -> i32
# CPU: `tile.library_call` is not supported on the CPU yet: `tick` has effects (`is_pure=False`)
@triton.jit
def kernel(x, count, steps):
    i = tl.arange(0, 128)
    tl.store(x + i, far(near(tl.load(x + i))))
    for _ in range(steps):
        count_on(count)


# NAME: the library function `tick` has the name of a function of the kernel; rename the kernel
@triton.jit
def tick(p):
    count_on(p)


@core.extern
def lost_function(x, _semantic=None):
    return core.extern_elementwise("mine", "", [x], {(core.float32, ): ("lost", core.float32)}, is_pure=True, _semantic=_semantic)


# LOST: the library function `lost` calls `somewhere_else`, which no library of the kernel has
@triton.jit
def asks_for_lost(p):
    tl.store(p, lost_function(tl.load(p)))


@core.extern
def amd_function(_semantic=None):
    return core.extern_elementwise("mine", "", [], {(): ("of_amd", core.int32)}, is_pure=True, _semantic=_semantic)


# AMD: the library function `of_amd` uses `llvm.amdgcn.workitem.id.x`, an instruction of another processor
@triton.jit
def asks_for_amd(p):
    tl.store(p, amd_function())


@core.extern
def lane_function(_semantic=None):
    return core.extern_elementwise("mine", "", [], {(): ("lane", core.int32)}, is_pure=True, _semantic=_semantic)


# LANE: the library function `lane` uses `llvm.nvvm.read.ptx.sreg.laneid`, an instruction of another processor
# REF: `lane` is code of a library, which the interpreter does not run
@triton.jit
def asks_for_lane(p):
    tl.store(p, lane_function())
