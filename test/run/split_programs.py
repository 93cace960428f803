# run: ref cpu gpu
# Programs that split their numbers by themselves may run in another order on a CPU: each runs once, in any grid.
import triton
import triton.language as tl


@triton.jit
def turned(x, y, rows, columns, apart, B: tl.constexpr):
    parts = tl.cdiv(columns, B)
    p = tl.program_id(0)
    row, part = p // parts, p % parts
    at = part * B + tl.arange(0, B)
    inside = (at < columns) & (row < rows)
    tl.store(y + row * columns + at, tl.load(x + at * apart + row, mask=inside) * 100 + row * parts + part, mask=inside)

# expect: turned[12](x=iota(120), rows=4, columns=24, apart=5, B=8) -> y:i32 == [[(c * 5 + r) * 100 + r * 3 + c // 8 for c in range(24)] for r in range(4)]
# expect: turned[12](x=iota(1200), rows=4, columns=24, apart=50, B=8) -> y:i32 == [[(c * 50 + r) * 100 + r * 3 + c // 8 for c in range(24)] for r in range(4)]
# expect: turned[9](x=iota(1200), rows=3, columns=18, apart=50, B=8) -> y:i32 == [[(c * 50 + r) * 100 + r * 3 + c // 8 for c in range(18)] for r in range(3)]
# Not all of the last row; more rows than there are.
# expect: turned[11](x=iota(1200), rows=4, columns=24, apart=50, B=8) -> y:i32 == [[(c * 50 + r) * 100 + r * 3 + c // 8 if r * 3 + c // 8 < 11 else 0 for c in range(24)] for r in range(4)]
# expect: turned[15](x=iota(1200), rows=4, columns=24, apart=50, B=8) -> y:i32 == [[(c * 50 + r) * 100 + r * 3 + c // 8 for c in range(24)] for r in range(4)]
# expect: turned[2](x=iota(1200), rows=1, columns=24, apart=50, B=8) -> y:i32 == [[c * 50 * 100 + c // 8 if c < 16 else 0 for c in range(24)]]
