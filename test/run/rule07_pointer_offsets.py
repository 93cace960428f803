# run: ref cpu gpu
# Rule 7: an unsigned offset is zero-extended, a signed one sign-extended.
import triton
import triton.language as tl


@triton.jit
def zero_extend(y, o):
    # Back by 2**32 - 1 elements, then forth by as many through a u32.
    p = y - 4294967295
    tl.store(p + tl.load(o), 7)

# expect: zero_extend(y=zeros(2,i32), o=[4294967295]:u32) -> y == [7, 0]


@triton.jit
def sign_extend(y, o):
    tl.store(y + 1 + tl.load(o), 7)

# expect: sign_extend(y=zeros(2,i32), o=[-1]:i32) -> y == [7, 0]
# expect: sign_extend(y=zeros(2,i32), o=[-1]:i8) -> y == [7, 0]
