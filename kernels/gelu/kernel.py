import triton
import triton.language as tl


@triton.jit
def gelu_tanh(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The tanh form, 0.5 x (1 + tanh u), computed as x * sigmoid(2u): the same function, one exp."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    two_u = 1.5957691216057308 * x * (1.0 + 0.044715 * x * x)
    y = x * tl.sigmoid(two_u)
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def gelu_erf(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The exact form, x times the normal distribution's cumulative probability."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    y = 0.5 * x * (1.0 + tl.erf(0.7071067811865476 * x))
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def gelu_tanh_backward(x_ptr, dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    """With s = sigmoid(2u): dx = dy * (s + x s (1 - s) (2u)')."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    dy = tl.load(dy_ptr + offsets, mask=mask).to(tl.float32)
    square = x * x
    s = tl.sigmoid(1.5957691216057308 * x * (1.0 + 0.044715 * square))
    slope = 1.5957691216057308 * (1.0 + 0.134145 * square)
    dx = dy * (s + x * s * (1.0 - s) * slope)
    tl.store(dx_ptr + offsets, dx.to(dx_ptr.dtype.element_ty), mask=mask)


@triton.jit
def gelu_erf_backward(x_ptr, dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    """dx = dy * (Phi(x) + x phi(x)), Phi and phi the normal distribution and density."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    dy = tl.load(dy_ptr + offsets, mask=mask).to(tl.float32)
    below = 0.5 * (1.0 + tl.erf(0.7071067811865476 * x))
    density = 0.3989422804014327 * tl.exp(-0.5 * x * x)
    dx = dy * (below + x * density)
    tl.store(dx_ptr + offsets, dx.to(dx_ptr.dtype.element_ty), mask=mask)
