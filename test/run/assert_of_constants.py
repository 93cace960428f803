# run: ref cpu gpu
# A Python `assert` is `tl.device_assert`, also of constants: nothing unless debugging is on.
import triton
import triton.language as tl


@triton.jit
def kernel(p, BLOCK: tl.constexpr):
    assert BLOCK % 8 == 0, f"BLOCK is {BLOCK}"
    tl.store(p, BLOCK)

# expect: kernel(p=zeros(1,i32), BLOCK=12) -> p == [12]
