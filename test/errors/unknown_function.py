# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl
from package.utils import is_fast

if is_fast():
    root = tl.sqrt
else:
    root = tl.rsqrt


@triton.jit
def kernel(p):
    tl.store(p, root(tl.load(p)))  # error: . UnknownDefinition `root` has two definitions, and which one holds depends on `package.utils.is_fast(...)`
# hint: say which with `--define 'package.utils.is_fast(...)=True'`, or `=False`
