import triton
import triton.language as tl


@triton.jit
def draw_mask(mask_ptr, n, p, seed, BLOCK: tl.constexpr):
    """Writes which elements are kept, a byte each."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, offsets) > p
    tl.store(mask_ptr + offsets, keep.to(tl.int8), mask=offsets < n)


@triton.jit
def dropout_stored(x_ptr, mask_ptr, y_ptr, n, p, BLOCK: tl.constexpr):
    """Drops what the mask in memory says, and scales the rest so that the mean stays."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    keep = tl.load(mask_ptr + offsets, mask=inside, other=0) != 0
    y = tl.where(keep, x / (1.0 - p), 0.0)
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["seed"])
def dropout_seeded(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    """Keeps no mask: the same seed gives it again, in the backward pass too.

    The gradient is this kernel applied to dy.
    """
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    keep = tl.rand(seed, offsets) > p
    y = tl.where(keep, x / (1.0 - p), 0.0)
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def dropout_four_words(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    """One Philox call gives four words; this uses all of them, on four blocks side by side.

    Its mask is therefore another one than that of `dropout_seeded`.
    """
    counter = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r0, r1, r2, r3 = tl.rand4x(seed, counter)
    first = tl.program_id(0) * BLOCK * 4 + tl.arange(0, BLOCK)
    for part in tl.static_range(4):
        r = r0 if part == 0 else r1 if part == 1 else r2 if part == 2 else r3
        offsets = first + part * BLOCK
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
        y = tl.where(r > p, x / (1.0 - p), 0.0)
        tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=inside)
