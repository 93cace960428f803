# check: decode[2](q=randn(2x16,f32), keys=randn(6x4x16,f32), table=[3, 5, 1, 0, -1, -1]:i32, lengths=[11, 4]:i32,
#     out=empty(2x12,f32), PAGES=3, PAGE=4, D=16)
# Entries behind a request's length are -1 and never followed.
import triton
import triton.language as tl


@triton.jit
def decode(q, keys, table, lengths, out, PAGES: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr):
    request = tl.program_id(0)
    length = tl.load(lengths + request)
    d = tl.arange(0, D)
    query = tl.load(q + request * D + d)
    for page in range(0, tl.cdiv(length, PAGE)):
        physical = tl.load(table + request * PAGES + page)
        token = page * PAGE + tl.arange(0, PAGE)
        tile = keys + (physical * PAGE + tl.arange(0, PAGE))[:, None] * D + d[None, :]
        key = tl.load(tile, mask=(token < length)[:, None], other=0.0)
        tl.store(out + request * PAGES * PAGE + token, tl.sum(key * query[None, :], axis=1), mask=token < length)
