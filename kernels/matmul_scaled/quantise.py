"""Numbers to 8 bits with a scale that maps the largest of a group to the largest of the format; x is about q * scale."""
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def to_eight_bits(x, dtype: tl.constexpr):
    """Rounded to nearest even. What is called with is within the format's range but for the last bit."""
    if dtype == tl.int8:
        return libdevice.rint(tl.clamp(x, -127.0, 127.0)).to(tl.int8)
    else:
        return x.to(dtype)


@triton.jit
def scale_and_inverse(peak, largest: tl.constexpr):
    """Both are 0 for a group of zeros."""
    return peak / largest, tl.where(peak > 0, largest / peak, 0.0)


@triton.jit
def quantise_rows(x_ptr, q_ptr, scale_ptr, stride_x, stride_q, N, LARGEST: tl.constexpr, BLOCK: tl.constexpr):
    """A scale for each row. Rows that fit BLOCK are read once, longer ones twice, the second time from the cache."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    peaks = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        x = tl.load(x_ptr + row * stride_x + start + columns, mask=start + columns < N, other=0.0).to(tl.float32)
        peaks = tl.maximum(peaks, tl.abs(x))
    scale, inverse = scale_and_inverse(tl.max(peaks, axis=0), LARGEST)
    tl.store(scale_ptr + row, scale)
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        x = tl.load(x_ptr + row * stride_x + start + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(q_ptr + row * stride_q + start + columns, to_eight_bits(x * inverse, q_ptr.dtype.element_ty), mask=mask)


@triton.jit
def quantise_blocks(x_ptr, q_ptr, scale_ptr, M, N, stride_x, stride_q, stride_scale_m, stride_scale_n, LARGEST: tl.constexpr,
                    WHOLE: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """A scale for each 1 x BLOCK_N, or under WHOLE for each BLOCK_M x BLOCK_N; read once."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    place = rows.to(tl.int64)[:, None]
    x = tl.load(x_ptr + place * stride_x + columns[None, :], mask=inside, other=0.0).to(tl.float32)
    scales = scale_ptr + tl.program_id(1) * stride_scale_n
    if WHOLE:
        scale, inverse = scale_and_inverse(tl.max(tl.abs(x)), LARGEST)
        tl.store(scales + tl.program_id(0) * stride_scale_m, scale)
        x *= inverse
    else:
        scale, inverse = scale_and_inverse(tl.max(tl.abs(x), axis=1), LARGEST)
        tl.store(scales + rows * stride_scale_m, scale, mask=rows < M)
        x *= inverse[:, None]
    tl.store(q_ptr + place * stride_q + columns[None, :], to_eight_bits(x, q_ptr.dtype.element_ty), mask=inside)


@triton.jit
def restore(q_ptr, scale_ptr, x_ptr, N, stride_q, stride_scale_m, stride_scale_n, GROUP_M: tl.constexpr, GROUP_N, BLOCK: tl.constexpr):
    """x = q * scale, for groups of GROUP_M x GROUP_N elements."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < N
    scale = tl.load(scale_ptr + row // GROUP_M * stride_scale_m + columns // GROUP_N * stride_scale_n, mask=mask, other=0.0)
    q = tl.load(q_ptr + row * stride_q + columns, mask=mask).to(tl.float32)
    tl.store(x_ptr + row * N + columns, q * scale, mask=mask)
