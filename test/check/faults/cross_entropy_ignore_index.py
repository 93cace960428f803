# check: loss[3](logits=randn(3x32,f32), labels=[-100, 5, 31]:i64, out=empty(3,f32), V=32, BLOCK=32)
# check: loss[3](logits=randn(3x32,f32), labels=[0, 5, 31]:i64, out=empty(3,f32), V=32, BLOCK=32) -> clean
# A label of -100 means "ignore this row", and still is used as an index.
import triton
import triton.language as tl


@triton.jit
def loss(logits, labels, out, V, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(logits + row * V + columns, mask=columns < V, other=-float("inf"))
    label = tl.load(labels + row)
    wanted = tl.load(logits + row * V + label)  # fault: . OutOfBounds `logits`
    peak = tl.max(x, axis=0)
    value = peak + tl.log(tl.sum(tl.exp(x - peak), axis=0)) - wanted
    tl.store(out + row, tl.where(label == -100, 0.0, value))
