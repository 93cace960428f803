# nereid: compile %s:kernel --signature "*fp32" --emit tile --extern-lib mine=nowhere.bc
import triton
import triton.language as tl
from triton.language import core


@core.extern
def mine(x, _semantic=None):
    return core.extern_elementwise("mine", "", [x], {(core.float32, ): ("my_function", core.float32)}, is_pure=True, _semantic=_semantic)  # error: .:12 LibraryUnreadable cannot read `nowhere.bc`: Could not open input file: No such file or directory


@triton.jit
def kernel(p):
    tl.store(p, mine(tl.load(p)))
# hint: a relative path begins where the program was started
