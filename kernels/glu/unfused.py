"""Activation and product as launches of their own, the activation through memory."""
import triton
import triton.language as tl

from kernel import gate_and_slope


@triton.jit
def activate(gate_ptr, f_ptr, stride_gate, N, GATE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < N
    f, slope = gate_and_slope(tl.load(gate_ptr + row * stride_gate + columns, mask=mask).to(tl.float32), GATE)
    tl.store(f_ptr + row * N + columns, f.to(f_ptr.dtype.element_ty), mask=mask)


@triton.jit
def multiply(f_ptr, up_ptr, y_ptr, stride_up, stride_y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < N
    f = tl.load(f_ptr + row * N + columns, mask=mask).to(tl.float32)
    up = tl.load(up_ptr + row * stride_up + columns, mask=mask).to(tl.float32)
    tl.store(y_ptr + row * stride_y + columns, (f * up).to(y_ptr.dtype.element_ty), mask=mask)
