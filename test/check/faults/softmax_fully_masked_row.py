# check: softmax[2](x=randn(2x16,f32), lengths=[5, 0]:i32, y=empty(2x16,f32), N=16)
# A row without any key: its maximum is -inf, and -inf - -inf is NaN.
import triton
import triton.language as tl


@triton.jit
def softmax(x, lengths, y, N: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, N)
    length = tl.load(lengths + row)
    value = tl.load(x + row * N + i, mask=i < length, other=-float("inf"))
    e = tl.exp(value - tl.max(value, axis=0))  # fault: . NotANumber
    tl.store(y + row * N + i, e / tl.sum(e, axis=0))
