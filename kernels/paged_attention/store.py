"""New tokens into the cache, also into one of int8 or fp8."""
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def store_row(row, cache_ptr, scale_ptr, slot, at, inside, LARGEST: tl.constexpr):
    """With a scale, the row's largest element becomes the format's largest; a row of zeros has scale 0."""
    dtype: tl.constexpr = cache_ptr.dtype.element_ty
    if scale_ptr is not None:
        x = row.to(tl.float32)
        peak = tl.max(tl.abs(x), axis=0)
        tl.store(scale_ptr + slot, peak / LARGEST)
        x *= tl.where(peak > 0, LARGEST / peak, 0.0)
        row = libdevice.rint(tl.clamp(x, -127.0, 127.0)).to(tl.int8) if dtype == tl.int8 else x.to(dtype)
    tl.store(cache_ptr + at, row.to(dtype), mask=inside)


@triton.jit
def store_tokens(k_ptr, v_ptr, k_cache_ptr, v_cache_ptr, slots_ptr, k_scale_ptr, v_scale_ptr, KV, stride_page, stride_k, stride_v,
                 PAGE: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr, LARGEST: tl.constexpr):
    """One key head of one token a program. `slots_ptr` says where each token goes, page * PAGE + place; below 0, nowhere."""
    token = tl.program_id(0).to(tl.int64)
    key_head = tl.program_id(1)
    slot = tl.load(slots_ptr + token).to(tl.int64)
    if slot < 0:
        return
    d = tl.arange(0, BLOCK_D)
    inside = d < D
    source = key_head * D + d
    head = slot % PAGE * KV + key_head
    at = slot // PAGE * stride_page + head * D + d
    scale_at = slot // PAGE * PAGE * KV + head
    store_row(tl.load(k_ptr + token * stride_k + source, mask=inside, other=0.0), k_cache_ptr, k_scale_ptr, scale_at, at, inside, LARGEST)
    store_row(tl.load(v_ptr + token * stride_v + source, mask=inside, other=0.0), v_cache_ptr, v_scale_ptr, scale_at, at, inside, LARGEST)


@triton.jit
def restore_tokens(cache_ptr, scale_ptr, slots_ptr, out_ptr, KV, stride_page,
                   PAGE: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr):
    """What the cache holds of each token, times its scale."""
    token = tl.program_id(0).to(tl.int64)
    key_head = tl.program_id(1)
    slot = tl.load(slots_ptr + token).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    target = out_ptr + (token * KV + key_head) * D + d
    if slot < 0:
        tl.store(target, tl.zeros([BLOCK_D], tl.float32), mask=d < D)
        return
    head = slot % PAGE * KV + key_head
    x = tl.load(cache_ptr + slot // PAGE * stride_page + head * D + d, mask=d < D, other=0.0).to(tl.float32)
    if scale_ptr is not None:
        x *= tl.load(scale_ptr + slot // PAGE * PAGE * KV + head)
    tl.store(target, x, mask=d < D)
