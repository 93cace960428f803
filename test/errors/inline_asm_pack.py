# nereid: compile %s:kernel --signature "*i32" --emit tile
import triton
import triton.language as tl


@triton.jit
def kernel(p):
    x = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [tl.load(p)], dtype=tl.int32, is_pure=True, pack=0)  # error: .:9 WrongArgument `pack`
    tl.store(p, x)
