# check: normalise[2](x=[1, 2, 3, 4, 0, 0, 0, 0]:f32, y=empty(8,f32), N=4)
import triton
import triton.language as tl


@triton.jit
def safe_reciprocal(x):
    tl.device_assert(x > 0, "sum must be positive")  # fault: . AssertFailed sum must be positive
    return 1.0 / tl.maximum(x, 1e-20)


@triton.jit
def normalise(x, y, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(y + i, value * safe_reciprocal(tl.sum(value, axis=0)))
