"""Descriptors of tensors whose rows belong to parts of unequal length: a block reads zeros, and writes nothing, beyond the end of its part.

A descriptor has no bound but its tensor's, so it is given two dimensions more, whose strides cancel each other modulo 2^64: moving by them changes which
rows a coordinate means without changing where the bound is. With `ROWS` rows, a part of `size` rows that begins at row `offset` has its row r at
coordinate ROWS - size + r of the ragged dimension, so that the part ends where the tensor does.
"""
import nereid.triton as triton
import nereid.triton.language as tl

from .tensor_descriptor import TensorDescriptor

ROWS = tl.constexpr(1 << 30)
_MANY = 0x7FFF0000  # of the two dimensions more: their coordinates are never beyond it


def create_ragged_descriptor(T, block_shape, ragged_dim=0):
    rank = T.ndim
    if ragged_dim < 0:
        ragged_dim += rank
    assert 0 <= ragged_dim < rank - 1, "the last dimension cannot be ragged"
    assert rank <= 3, "a ragged descriptor has at most 3 dimensions"
    assert len(block_shape) == rank, "the block's shape and the tensor's differ in rank"
    assert T.shape[ragged_dim] <= ROWS.value, "a ragged dimension has at most 2**30 rows"
    shape, strides = list(T.shape), [T.stride(dim) for dim in range(rank)]
    shape[ragged_dim] = ROWS.value
    step = strides[ragged_dim]
    # ROWS * (2^34 - step) is -ROWS * step modulo 2^64.
    return TensorDescriptor(T, [_MANY, _MANY, *shape], [2**34 - step, step, *strides], [1, 1, *block_shape])


@triton.jit
def to_ragged_indices(batch_offset, batch_size, row):
    return ROWS, batch_offset + batch_size, ROWS - batch_size + row


@triton.jit
def load_ragged(TMA, batch_offset, batch_size, coords, ragged_dim: tl.constexpr = 0):
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "`TMA` is not of create_ragged_descriptor")
    back, forth, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    block = TMA.load([back, forth] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:])
    return tl.reshape(block, block.shape[2:])


@triton.jit
def store_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    back, forth, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    TMA.store([back, forth] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:], tl.reshape(data, [1, 1] + data.shape))


@triton.jit
def atomic_add_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    back, forth, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    TMA.atomic_add([back, forth] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:], tl.reshape(data, [1, 1] + data.shape))
