# RUN: nereid compile %s:rows --signature "*fp16:16, *i32:16, *fp32:16, *fp16:16" --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:many --signature "*fp16:16, *i32:16, *fp16:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix=MANY
# Each thread loads the addresses of its own rows, and what else lies at them, where they are few.
import triton
import triton.language as tl


# CHECK: #[[ROWS:layout[0-9]*]] = #tilegpu.layout<1, register = {{\[}}[16]], lane = {{\[}}[0], [0], [0], [1], [2]], warp = {{\[}}[4], [8]]>
# CHECK-LABEL: func.func @rows
# CHECK: tile.load %{{.*}} -> tensor<32xi32, #[[ROWS]]>
# CHECK: tile.load %{{.*}} -> tensor<32xf32, #[[ROWS]]>
# CHECK: tile.load %{{.*}} -> tensor<32x64xf16
# CHECK-NOT: tilegpu.convert_layout
# CHECK: tile.store
@triton.jit
def rows(x_ptr, places_ptr, scale_ptr, out_ptr):
    i = tl.arange(0, 32)
    j = tl.arange(0, 64)
    place = tl.load(places_ptr + i)
    scale = tl.load(scale_ptr + place)
    x = tl.load(x_ptr + place[:, None] * 64 + j[None, :])
    tl.store(out_ptr + i[:, None] * 64 + j[None, :], (x * scale[:, None]).to(tl.float16))


# 32 rows a thread: addresses are loaded once and moved.
# MANY-LABEL: func.func @many
# MANY: tile.load %{{.*}} -> tensor<128xi32
# MANY: tilegpu.convert_layout
# MANY: tile.load %{{.*}} -> tensor<128x128xf16
@triton.jit
def many(x_ptr, places_ptr, out_ptr):
    i = tl.arange(0, 128)
    place = tl.load(places_ptr + i)
    x = tl.load(x_ptr + place[:, None] * 128 + i[None, :])
    tl.store(out_ptr + i[:, None] * 128 + i[None, :], x)
