# nereid: compile %s:kernel --signature "*fp32" --emit tile
from package.utils import jit_decorator


@jit_decorator
def kernel(p):  # error: .:1 NotAKernel is a plain function, not a kernel: the module that `@jit_decorator` is of was not found
    return p
# hint: beside the file
