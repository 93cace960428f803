import triton
import triton.language as tl


@triton.jit
def copy(x, y, M, N, xm, xn, ym, yn, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = (i < M) & (j < N)
    tl.store(y + i * ym + j * yn, tl.load(x + i * xm + j * xn, mask=mask), mask=mask)
