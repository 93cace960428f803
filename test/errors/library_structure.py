# nereid: compile %s:kernel --signature "*fp32" --emit tile --extern-lib mine=%S/Inputs/library.ll
import triton
import triton.language as tl
from triton.language import core


@core.extern
def mine(x, _semantic=None):
    return core.extern_elementwise("mine", "", [x], {(core.float32, ): ("of_structure", core.float32)}, is_pure=True, _semantic=_semantic)  # error: .:12 LibraryFunctionType `of_structure` of `


@triton.jit
def kernel(p):
    tl.store(p, mine(tl.load(p)))
# hint: wrap it in a function of numbers and pointers
