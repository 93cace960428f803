import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def functions(x, log1p, expm1, erf, hypot, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    v = tl.load(x + i, mask=mask, other=0.0)
    tl.store(log1p + i, libdevice.log1p(v), mask=mask)
    tl.store(expm1 + i, libdevice.expm1(v), mask=mask)
    tl.store(erf + i, libdevice.erf(v), mask=mask)
    tl.store(hypot + i, libdevice.hypot(v, 1.0 + v), mask=mask)
