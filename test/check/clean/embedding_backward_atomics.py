# check: backward[3](grad=randn(3x16,f32), ids=[5, 2, 5]:i32, table=zeros(8x16,f32), D=16)
import triton
import triton.language as tl


@triton.jit
def backward(grad, ids, table, D: tl.constexpr):
    token = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.load(ids + token)
    tl.atomic_add(table + row * D + d, tl.load(grad + token * D + d))
