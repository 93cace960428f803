# check: gather_pages[3](keys=randn(200x256,f32), table=[1, 127, 150]:i16, out=empty(3x256,f32), PAGE=256)
# A 16-bit page number times the constexpr page size stays 16 bits wide.
import triton
import triton.language as tl


@triton.jit
def gather_pages(keys, table, out, PAGE: tl.constexpr):
    request = tl.program_id(0)
    page = tl.load(table + request)
    i = tl.arange(0, PAGE)
    start = page * PAGE  # fault: . AddressOverflow
    tl.store(out + request * PAGE + i, tl.load(keys + start + i))  # maybe: . OutOfBounds
