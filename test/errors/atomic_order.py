# nereid: compile %s:kernel --signature "*i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    tl.atomic_add(p, 1, sem="seq_cst")  # error: .:5 WrongArgument `sem` is `seq_cst`
# hint: acq_rel
