"""What training in narrow floats keeps beside its tensors: a loss scale for f16, scales by the history of maxima for fp8.

All of it stays on the device: a step that overflowed is skipped by a flag that the optimiser reads.
"""
import triton
import triton.language as tl


@triton.jit
def unscale(grad_ptr, out_ptr, scale_ptr, overflow_ptr, n, BLOCK: tl.constexpr):
    """out = grad / scale, and out may be grad; sets the flag if an element is infinite or NaN. The flag is 0.0 before."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    inverse = 1.0 / tl.load(scale_ptr)
    grad = tl.load(grad_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    # x - x is 0 for a finite x, and NaN else.
    broken = tl.max((grad - grad != 0.0).to(tl.int32), axis=0)
    tl.store(out_ptr + offsets, (grad * inverse).to(out_ptr.dtype.element_ty), mask=mask)
    # Programs that find something write the same number: no order between them matters.
    if broken != 0:
        tl.atomic_xchg(overflow_ptr, 1.0)


@triton.jit
def update_scale(scale_ptr, steps_ptr, overflow_ptr, growth, backoff, INTERVAL):
    """One program: a smaller scale after an overflow, a larger one after INTERVAL steps without; clears the flag."""
    scale = tl.load(scale_ptr)
    steps = tl.load(steps_ptr)
    overflow = tl.load(overflow_ptr) != 0.0
    grown = steps + 1 >= INTERVAL
    # A scale that would overflow itself stays.
    larger = scale * growth
    larger = tl.where(larger < float("inf"), larger, scale)
    tl.store(scale_ptr, tl.where(overflow, scale * backoff, tl.where(grown, larger, scale)))
    tl.store(steps_ptr, tl.where(overflow | grown, 0, steps + 1))
    tl.store(overflow_ptr, 0.0)


@triton.jit
def cast_and_measure(x_ptr, scale_ptr, q_ptr, amax_ptr, n, BLOCK: tl.constexpr):
    """q = x * scale in fp8, with the scale of steps before, and this step's largest magnitude.

    Delayed scaling: the maximum need not be known before the cast, so x is read once. The maximum of
    non-negative floats is that of their bits, so the order of the programs leaves no trace.
    """
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    # The cast saturates: what has outgrown the scale becomes the format's largest number.
    tl.store(q_ptr + offsets, (x * tl.load(scale_ptr)).to(q_ptr.dtype.element_ty), mask=mask)
    tl.atomic_max(amax_ptr, tl.max(tl.abs(x), axis=0))


@triton.jit
def update_fp8_scales(history_ptr, amax_ptr, scale_ptr, inverse_ptr, T, LENGTH, LARGEST, margin,
                      BLOCK_T: tl.constexpr, BLOCK_H: tl.constexpr):
    """For T tensors at a time: this step's maximum enters the history [T, LENGTH] and the oldest leaves it; the
    scale takes the largest of the history to 2^-margin of the format's largest number.

    A history of zeros, and one that holds an infinity or NaN, leaves the scale as it is.
    """
    tensors = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    steps = tl.arange(0, BLOCK_H)
    there = tensors < T
    inside = there[:, None] & (steps[None, :] < LENGTH)
    place = history_ptr + tensors[:, None] * LENGTH + steps[None, :]
    # The newest stands first; each step moves the others by one.
    older = tl.load(place - 1, mask=inside & (steps[None, :] > 0), other=0.0)
    amax = tl.load(amax_ptr + tensors, mask=there, other=0.0)
    history = tl.where(steps[None, :] == 0, amax[:, None], older)
    # All threads have read before one of them writes.
    tl.debug_barrier()
    tl.store(place, history, mask=inside)
    tl.store(amax_ptr + tensors, tl.zeros([BLOCK_T], tl.float32), mask=there)
    peak = tl.max(history, axis=1)
    scale = tl.load(scale_ptr + tensors, mask=there, other=1.0)
    usable = (peak > 0) & (peak < float("inf")) & (amax == amax)
    scale = tl.where(usable, tl.exp2(-margin) * (LARGEST / tl.where(usable, peak, 1.0)), scale)
    tl.store(scale_ptr + tensors, scale, mask=there)
    tl.store(inverse_ptr + tensors, 1.0 / scale, mask=there)
