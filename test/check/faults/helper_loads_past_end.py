# check: norms[2](x=randn(2x20,f32), out=empty(2,f32), N=20, BLOCK=32)
# The access is in a helper: the finding names the helper's line and, as a note, the call.
import triton
import triton.language as tl


@triton.jit
def load_row(base, stride, row, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    return tl.load(base + row * stride + columns)  # fault: . OutOfBounds `x`


@triton.jit
def norms(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    value = load_row(x, N, row, BLOCK)
    tl.store(out + row, tl.sqrt(tl.sum(value * value, axis=0)))
