# check: gather_keys[2](keys=randn(6x4x16,f32), table=[3, 5, 1, 0, 2, 4]:i32, lengths=[12, 11]:i32,
#     out=empty(2x16,f32), PAGES=3, PAGE=4, D=16)
# The number of pages is rounded one up too far, so the last request runs off the table.
import triton
import triton.language as tl


@triton.jit
def gather_keys(keys, table, lengths, out, PAGES: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr):
    request = tl.program_id(0)
    length = tl.load(lengths + request)
    d = tl.arange(0, D)
    acc = tl.zeros([D], dtype=tl.float32)
    for page in range(0, length // PAGE + 2):
        physical = tl.load(table + request * PAGES + page)  # fault: . OutOfBounds `table`
        for slot in range(0, PAGE):
            inside = page * PAGE + slot < length
            acc += tl.load(keys + (physical * PAGE + slot) * D + d, mask=inside & (d < D), other=0.0)
    tl.store(out + request * D + d, acc)
