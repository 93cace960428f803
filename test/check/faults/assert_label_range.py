# check: pick[4](logits=randn(4x8,f32), labels=[0, 7, 8, 3]:i32, out=empty(4,f32), V=8)
import triton
import triton.language as tl


@triton.jit
def pick(logits, labels, out, V):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    tl.device_assert(label < V, "label out of range")  # fault: . AssertFailed label out of range
    value = tl.load(logits + row * V + label, mask=label < V, other=0.0)
    tl.store(out + row, value)
