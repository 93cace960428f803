# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.aggregate
class Pair:
    a: tl.tensor
    b: tl.tensor

    @triton.jit
    def swap(self):
        self.a = self.b  # error: .:9 UnsupportedSyntax attributes can't be assigned to in a kernel


@triton.jit
def kernel(p):
    pair = Pair(tl.load(p), tl.load(p + 1))
    pair.swap()
# hint: make a new `Pair` with the changed field
