# check: gather_keys[1](keys=randn(4x4x16,f32), table=[2, 0, -1]:i32, length=8, out=empty(16,f32), PAGES=3, PAGE=4, D=16)
# Entries of the table behind a request's length are -1; the kernel walks the whole table.
import triton
import triton.language as tl


@triton.jit
def gather_keys(keys, table, length, out, PAGES: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr):
    d = tl.arange(0, D)
    slots = tl.arange(0, PAGE)
    acc = tl.zeros([D], dtype=tl.float32)
    for page in range(0, PAGES):
        physical = tl.load(table + page)
        tile = keys + (physical * PAGE + slots)[:, None] * D + d[None, :]
        acc += tl.sum(tl.load(tile), axis=0)  # fault: . OutOfBounds `keys`
    tl.store(out + d, acc)
