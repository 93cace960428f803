# nereid: compile %s:kernel --signature "*i32" --target cpu --emit llvm
# One message at the line of the source, and nothing of our IR: see the golden file.
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    a = tl.load(x)
    tl.store(x, tl.inline_asm_elementwise("vote.sync.ballot.b32 $0, $1, -1;", "=r,r", [a], dtype=tl.int32, is_pure=True, pack=1))  # error: .:17 - no meaning outside
