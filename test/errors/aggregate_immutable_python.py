# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.aggregate
class Size:
    rows: tl.constexpr


@triton.constexpr_function
def grow(size):
    size.rows = 8  # error: .:5 ImmutableAggregate field `rows` of `Size` can't be assigned to
    return size


@triton.jit
def kernel(p):
    tl.store(p, grow(Size(4)).rows)
# hint: make a changed copy with `tl.aggregate_replace`
