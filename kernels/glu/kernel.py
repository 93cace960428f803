"""Gated units, y = f(gate) * up: SwiGLU has f = silu, GEGLU the tanh form of GELU, GLU the sigmoid, ReGLU relu.

Gate and up are rows of one matrix [M, 2 N], as a projection leaves them, or two matrices of their own:
each has a row stride.
"""
import triton
import triton.language as tl


@triton.jit
def gate_and_slope(x, GATE: tl.constexpr):
    """f(x) and f'(x). What a kernel does not use is not computed."""
    if GATE == "relu":
        return tl.maximum(x, 0.0), tl.where(x > 0, 1.0, 0.0)
    elif GATE == "sigmoid":
        s = tl.sigmoid(x)
        return s, s * (1.0 - s)
    elif GATE == "silu":
        s = tl.sigmoid(x)
        return x * s, s * (1.0 + x * (1.0 - s))
    else:
        tl.static_assert(GATE == "gelu", "GATE is sigmoid, relu, silu or gelu")
        # 0.5 x (1 + tanh u) = x sigmoid(2u), and (2u)' is `steep`.
        # From |x| = 16 on s is 0 or 1: a bound keeps `steep`, which 1 - s then cancels, from overflow.
        near = tl.clamp(x, -16.0, 16.0)
        square = near * near
        s = tl.sigmoid(1.5957691216057308 * x * (1.0 + 0.044715 * square))
        steep = 1.5957691216057308 * (1.0 + 0.134145 * square)
        return x * s, s * (1.0 + near * (1.0 - s) * steep)


@triton.jit
def glu_forward(gate_ptr, up_ptr, y_ptr, stride_gate, stride_up, stride_y, N, GATE: tl.constexpr, BLOCK: tl.constexpr):
    """One block of one row a program."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < N
    gate = tl.load(gate_ptr + row * stride_gate + columns, mask=mask).to(tl.float32)
    up = tl.load(up_ptr + row * stride_up + columns, mask=mask).to(tl.float32)
    f, slope = gate_and_slope(gate, GATE)
    tl.store(y_ptr + row * stride_y + columns, (f * up).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def glu_backward(gate_ptr, up_ptr, dy_ptr, dgate_ptr, dup_ptr, stride_gate, stride_up, stride_dy, stride_dgate, stride_dup, N,
                 GATE: tl.constexpr, BLOCK: tl.constexpr):
    """dgate = dy up f'(gate), dup = dy f(gate). The gradients may take the places of gate and up."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < N
    gate = tl.load(gate_ptr + row * stride_gate + columns, mask=mask).to(tl.float32)
    up = tl.load(up_ptr + row * stride_up + columns, mask=mask).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride_dy + columns, mask=mask).to(tl.float32)
    f, slope = gate_and_slope(gate, GATE)
    tl.store(dgate_ptr + row * stride_dgate + columns, (dy * up * slope).to(dgate_ptr.dtype.element_ty), mask=mask)
    tl.store(dup_ptr + row * stride_dup + columns, (dy * f).to(dup_ptr.dtype.element_ty), mask=mask)
