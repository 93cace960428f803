"""Rotary position embedding: pairs of columns of each head turn by an angle that depends on the token's position.

A pair is (x[i], x[i + ROTARY / 2]) in the half form (NeoX, Llama) and (x[2 i], x[2 i + 1]) in the
interleaved form (GPT-J). Columns from ROTARY on pass. The gradient turns back: the same kernel with
the sine negated.
"""
import triton
import triton.language as tl


@triton.jit
def rope(x_ptr, y_ptr, cos_ptr, sin_ptr, position_ptr, S, H, stride_xb, stride_xs, stride_xh, stride_yb, stride_ys, stride_yh,
         D: tl.constexpr, ROTARY: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_H: tl.constexpr,
         INTERLEAVED: tl.constexpr, BACKWARD: tl.constexpr):
    """BLOCK_H heads of one token a program, which read the token's cosines and sines once. y may be x.

    `position_ptr` names a row of the tables for each token, or is None where token s is at position s.
    """
    token = tl.program_id(0)
    b = (token // S).to(tl.int64)
    s = token % S
    position = s.to(tl.int64)
    if position_ptr is not None:
        position = tl.load(position_ptr + token).to(tl.int64)

    HALF: tl.constexpr = ROTARY // 2
    pairs = tl.arange(0, BLOCK_P)
    cos = tl.load(cos_ptr + position * HALF + pairs, mask=pairs < HALF).to(tl.float32)[None, :]
    sin = tl.load(sin_ptr + position * HALF + pairs, mask=pairs < HALF).to(tl.float32)[None, :]
    if BACKWARD:
        sin = -sin

    heads = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    x_rows = x_ptr + b * stride_xb + s.to(tl.int64) * stride_xs + heads[:, None] * stride_xh
    y_rows = y_ptr + b * stride_yb + s.to(tl.int64) * stride_ys + heads[:, None] * stride_yh
    present = heads[:, None] < H
    if INTERLEAVED:
        # A row is read as it lies, and its pairs are parted in registers.
        columns = tl.arange(0, 2 * BLOCK_P)
        inside = present & (columns[None, :] < ROTARY)
        x = tl.load(x_rows + columns[None, :], mask=inside).to(tl.float32)
        even, odd = tl.split(tl.reshape(x, [BLOCK_H, BLOCK_P, 2]))
        turned = tl.interleave(even * cos - odd * sin, odd * cos + even * sin)
        tl.store(y_rows + columns[None, :], turned.to(y_ptr.dtype.element_ty), mask=inside)
    else:
        inside = present & (pairs[None, :] < HALF)
        first = tl.load(x_rows + pairs[None, :], mask=inside).to(tl.float32)
        second = tl.load(x_rows + HALF + pairs[None, :], mask=inside).to(tl.float32)
        tl.store(y_rows + pairs[None, :], (first * cos - second * sin).to(y_ptr.dtype.element_ty), mask=inside)
        tl.store(y_rows + HALF + pairs[None, :], (second * cos + first * sin).to(y_ptr.dtype.element_ty), mask=inside)

    if ROTARY != D:
        REST: tl.constexpr = triton.next_power_of_2(D - ROTARY)
        rest = ROTARY + tl.arange(0, REST)
        inside = present & (rest[None, :] < D)
        tl.store(y_rows + rest[None, :], tl.load(x_rows + rest[None, :], mask=inside), mask=inside)
