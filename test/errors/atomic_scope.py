# nereid: compile %s:kernel --signature "*i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.atomic_add(p, 1, scope="grid")  # error: .:5 WrongArgument `scope` is `grid`
# hint: gpu
