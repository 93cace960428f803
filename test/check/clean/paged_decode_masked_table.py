# check: gather[1](keys=randn(4x16,f32), table=[2, -1, 0, -1]:i32, out=empty(4x16,f32), N=4, D=16)
# Invalid entries give addresses before the tensor, in masked lanes.
import triton
import triton.language as tl


@triton.jit
def gather(keys, table, out, N: tl.constexpr, D: tl.constexpr):
    i = tl.arange(0, N)
    d = tl.arange(0, D)
    page = tl.load(table + i)
    tile = tl.load(keys + page[:, None] * D + d[None, :], mask=(page >= 0)[:, None], other=0.0)
    tl.store(out + i[:, None] * D + d[None, :], tile)
