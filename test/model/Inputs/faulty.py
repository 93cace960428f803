import triton
import triton.language as tl


# Two of them store far outside of `y`.
@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 32, 256, 128)], key=["n"])
@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    away = 1 << 44 if BLOCK == 64 or BLOCK == 256 else 0
    tl.store(y + away + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)
