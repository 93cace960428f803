# nereid: compile %s:kernel --signature "*fp32, 3" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p, n: tl.constexpr):
    match n:  # error: .:5 UnsupportedSyntax `match` is not part of the kernel language
        case 3:
            tl.store(p, 1.0)
# hint: compare with `if` and `elif`
