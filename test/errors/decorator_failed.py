# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


class Counted:
    def __init__(self, kernel):
        self.kernel = kernel
        self.room = {}["cache"]  # note: .:21 DecoratorFailed `@Counted` could not be applied: there is no key 'cache'


@Counted
@triton.jit
def kernel(p):
    tl.store(p, 0.0)
