# RUN: nereid compile %s:places --signature "*fp32:16, *fp32:16, i32, i32" --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:places --signature "*fp32:16, *fp32:16, 56, 64" --target sm_90a --emit gpu | FileCheck %s --check-prefix=KNOWN
# RUN: nereid compile %s:few --signature "*fp32:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix=FEW
# Threads divide by a number that the code does not know once for each element, not for each copy; the quotients move to the rows that
# need them.
import triton
import triton.language as tl


# CHECK: #[[ONCE:layout[0-9]*]] = #tilegpu.layout<1, lane = {{\[\[}}1], [2], [4], [8], [16]], warp = {{\[\[}}32], [64]]>
# CHECK-LABEL: func.func @places
# CHECK: tile.divsi %{{.*}} : tensor<128xi32, #[[ONCE]]>
# CHECK: tilegpu.convert_layout
# CHECK: tile.remsi %{{.*}} : tensor<128xi32, #[[ONCE]]>
# CHECK: tilegpu.convert_layout
# CHECK-NOT: tile.divsi
# CHECK: tile.load
# KNOWN-LABEL: func.func @places
# KNOWN-NOT: tilegpu.convert_layout
@triton.jit
def places(x_ptr, out_ptr, width, stride):
    i = tl.arange(0, 128)
    j = tl.arange(0, 64)
    x = tl.load(x_ptr + (i // width * stride + i % width * 64)[:, None] + j[None, :])
    tl.store(out_ptr + i[:, None] * 64 + j[None, :], x)


# Two rows a thread: it divides for each.
# FEW-LABEL: func.func @few
# FEW-NOT: tilegpu.convert_layout
@triton.jit
def few(x_ptr, out_ptr, height):
    i = tl.arange(0, 16)
    j = tl.arange(0, 64)
    x = tl.load(x_ptr + (i % height)[:, None] * 64 + j[None, :])
    tl.store(out_ptr + i[:, None] * 64 + j[None, :], x)
