# run: ref cpu gpu
# Blocks that are combined into memory: inside of it, across its end, by several programs, of several types.
import triton
import triton.language as tl


@triton.jit
def sums(x, ROWS, COLUMNS, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    block = tl.make_tensor_descriptor(x, [ROWS, COLUMNS], [COLUMNS, 1], [BLOCK, WIDTH])
    i = tl.arange(0, BLOCK)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    block.atomic_add([tl.program_id(0) // 2 * BLOCK, 0], i.to(x.dtype.element_ty))

# expect: sums[4](x=zeros(12x8,f32), ROWS=12, COLUMNS=8, BLOCK=8, WIDTH=8) -> x ~= [[2 * (r % 8 * 8 + c) for c in range(8)] for r in range(12)] within 0
# expect: sums[2](x=zeros(40x64,f32), ROWS=40, COLUMNS=64, BLOCK=32, WIDTH=64)
#     -> x ~= [[2 * (r * 64 + c) if r < 32 else 0 for c in range(64)] for r in range(40)] within 0
# expect: sums[2](x=zeros(16x40,f16), ROWS=16, COLUMNS=40, BLOCK=16, WIDTH=64) -> x ~= [[2 * (r * 64 + c) for c in range(40)] for r in range(16)] within 0.001
# expect: sums[4](x=zeros(16x16,i32), ROWS=16, COLUMNS=16, BLOCK=8, WIDTH=16) -> x == [[2 * (r % 8 * 16 + c) for c in range(16)] for r in range(16)]
# expect: sums[2](x=zeros(1x64,f32), ROWS=1, COLUMNS=64, BLOCK=1, WIDTH=64) -> x ~= [[2 * c for c in range(64)]] within 0


@triton.jit
def extremes(x, y, z, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = (i[:, None] * BLOCK + i[None, :]) * 7 % 32 - 16 + tl.program_id(0)
    tl.make_tensor_descriptor(x, [BLOCK, BLOCK], [BLOCK, 1], [BLOCK, BLOCK]).atomic_max([0, 0], value)
    tl.make_tensor_descriptor(y, [BLOCK, BLOCK], [BLOCK, 1], [BLOCK, BLOCK]).atomic_min([0, 0], value)
    tl.make_tensor_descriptor(z, [BLOCK, BLOCK], [BLOCK, 1], [BLOCK, BLOCK]).atomic_or([0, 0], 1 << (value + 16) % 16)

# expect: extremes[3](x=zeros(16x16,i32), y=zeros(16x16,i32), z=zeros(16x16,i32), BLOCK=16)
#     -> x == [[max(0, (r * 16 + c) * 7 % 32 - 14) for c in range(16)] for r in range(16)]
#     and y == [[min(0, (r * 16 + c) * 7 % 32 - 16) for c in range(16)] for r in range(16)]
#     and z == [[sum([1 << ((r * 16 + c) * 7 % 32 - 16 + p) % 16 for p in range(3)]) for c in range(16)] for r in range(16)]


# One program adds and reads what it added, by the same descriptor, step by step.
@triton.jit
def doubles(x, STEPS, BLOCK: tl.constexpr):
    block = tl.make_tensor_descriptor(x, [BLOCK, BLOCK], [BLOCK, 1], [BLOCK, BLOCK])
    for _ in range(STEPS):
        block.atomic_add([0, 0], block.load([0, 0]))

# expect: doubles(x=iota(32x32,f32), STEPS=5, BLOCK=32) -> x == [[32 * (r * 32 + c) for c in range(32)] for r in range(32)]


# The copy engine compares as the tensor's type says, of a descriptor that the host made too.
@triton.jit
def larger(target, source, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    target.atomic_max([0, 0], tl.load(source + i))

# expect: larger(target=descriptor(values([[1, 4000000000, 3000000000, 7]], u32), (1, 4)), source=values([[4000000000, 2, 3000000001, 5]], u32), ROWS=1, COLUMNS=4)
#     -> target == [[4000000000, 4000000000, 3000000001, 7]]
