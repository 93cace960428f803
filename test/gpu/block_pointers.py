# RUN: nereid compile %s:scaled --signature "*fp32:16, *fp32:16, i32:16, i32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix=ROWS
# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix=PRODUCT
# Rows that a block pointer checks against bounds are read and written in vectors.
# ROWS: ld.global.v4
# ROWS-NOT: ld.global.b32
# ROWS: st.global.v4
# ROWS-NOT: st.global.b32
import triton
import triton.language as tl


@triton.jit
def scaled(x, y, M, N, stride):
    here = tl.make_block_ptr(x, (M, N), (stride, 1), (tl.program_id(0) * 4, 0), (4, 1024), (1, 0))
    there = tl.make_block_ptr(y, (M, N), (stride, 1), (tl.program_id(0) * 4, 0), (4, 1024), (1, 0))
    tl.store(there, tl.load(here, boundary_check=(0, 1)) * 2, boundary_check=(0, 1))


# The bounds of a transposed operand are compared where it is loaded, and the factor of each row is loaded where the sums are: only they move,
# to where they are stored.
# PRODUCT: func @product
# PRODUCT-NOT: convert_layout
# PRODUCT: tile.dot
# PRODUCT-NOT: convert_layout
# PRODUCT: tilegpu.convert_layout %{{.*}} : tensor<64x64xf32
# PRODUCT-NOT: convert_layout
@triton.jit
def product(a, b, c, factor, M, stride):
    left = tl.make_block_ptr(a, (M, 64), (stride, 1), (tl.program_id(0) * 64, 0), (64, 64), (1, 0))
    right = tl.make_block_ptr(b, (64, M), (1, stride), (0, 0), (64, 64), (0, 1))
    out = tl.make_block_ptr(c, (M, 64), (stride, 1), (tl.program_id(0) * 64, 0), (64, 64), (1, 0))
    of = tl.load(factor + tl.program_id(0) * 64 + tl.arange(0, 64))
    sums = tl.dot(tl.load(left, boundary_check=(0, 1)), tl.load(right, boundary_check=(0, 1)))
    tl.store(out, sums * of[:, None], boundary_check=(0, 1))
