# nereid: compile %s:kernel --signature "*fp32" --emit tile --extern-lib mine=%S/Inputs/library.ll
import triton
import triton.language as tl
from triton.language import core


@core.extern
def mine(x, _semantic=None):
    return core.extern_elementwise("mine", "", [x], {(core.float32, ): ("my_function", core.float32)}, is_pure=True, _semantic=_semantic)  # error: .:12 LibraryFunctionMissing `my_function` is neither one of CUDA's library functions nor in `


@triton.jit
def kernel(p):
    tl.store(p, mine(tl.load(p)))
# hint: names of C++ functions are mangled
