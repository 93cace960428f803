# nereid: compile %s:kernel --arg "p=zeros(16,f32)" --emit tile
import triton
import triton.language as tl


def tuned(kernel):
    return triton.autotune(configs=[triton.Config({"BLOCK": SIZES["small"]})], key=[])(kernel)  # error: .:61 UndefinedName cannot choose a configuration of `kernel`: `SIZES` is not defined


@tuned
@triton.jit
def kernel(p, BLOCK: tl.constexpr):
    tl.store(p + tl.arange(0, BLOCK), 0.0)
