# run: ref cpu gpu
# Rows that later loops load again: what is kept is what memory would give, however it is written meanwhile.
import triton
import triton.language as tl


# Beside weights the first step waits in registers (8 numbers a thread), the others are loaded again.
@triton.jit
def weighed(x, w, y, N, M, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    x += tl.program_id(0) * N
    total = tl.zeros([BLOCK], tl.int32)
    for start in range(0, N, BLOCK):
        total += tl.load(x + start + columns, mask=start + columns < N, other=0)
    sum = tl.sum(total, axis=0)
    tl.store(y + M, sum)
    tl.debug_barrier()
    for start in range(0, N, BLOCK):
        inside = start + columns < N
        value = tl.load(x + start + columns, mask=inside, other=0)
        tl.store(y + start + columns, value * sum + tl.load(w + start + columns, mask=inside), mask=inside)

@triton.jit
def weighed_in_place(x, w, N, M, BLOCK: tl.constexpr):
    weighed(x, w, x, N, M, BLOCK)

# expect: weighed(x=ones(1000,i32), w=iota(1000,i32), y=zeros(1001,i32), N=1000, M=1000, BLOCK=1024) -> y == [1000 + i if i < 1000 else 1000 for i in range(1001)]
# expect: weighed(x=ones(3000,i32), w=iota(3000,i32), y=zeros(3001,i32), N=3000, M=3000, BLOCK=1024) -> y == [3000 + i if i < 3000 else 3000 for i in range(3001)]
# expect: weighed(x=ones(1000,i32), w=iota(1000,i32), y=zeros(1001,i32), N=0, M=3, BLOCK=1024) -> y == [0] * 1001
# expect: weighed_in_place(x=ones(1001,i32), w=iota(1000,i32), N=1000, M=1000, BLOCK=1024) -> x == [1000 + i if i < 1000 else 1000 for i in range(1001)]
# expect: weighed_in_place(x=ones(1001,i32), w=zeros(1000,i32), N=1000, M=10, BLOCK=1024) -> x == [1000000 if i == 10 else 1000 if i < 1000 else 1 for i in range(1001)]


@triton.jit
def scaled(x, y, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int32)
    for start in range(0, N, BLOCK):
        total += tl.load(x + start + columns, mask=start + columns < N, other=0)
    sum = tl.sum(total, axis=0)
    for start in range(0, N, BLOCK):
        inside = start + columns < N
        tl.store(y + start + columns, tl.load(x + start + columns, mask=inside, other=0) * sum, mask=inside)

# expect: scaled(x=ones(1000,i32), y=zeros(1000,i32), N=1000, BLOCK=2048) -> y == [1000] * 1000
# expect: scaled(x=ones(3000,i32), y=zeros(3000,i32), N=3000, BLOCK=2048) -> y == [3000] * 3000
# expect: scaled(x=ones(3000,i32), y=zeros(3000,i32), N=0, BLOCK=2048) -> y == [0] * 3000
# All of it in shared memory, and more than there is room for.
# expect: scaled(x=ones(3000,i32), y=zeros(3000,i32), N=3000, BLOCK=128) -> y == [3000] * 3000
# expect: scaled(x=ones(40000,i32), y=zeros(40000,i32), N=40000, BLOCK=512) -> y == [40000] * 40000


# Where the mask is false each load has its own number.
@triton.jit
def others(x, y, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    most = tl.full([BLOCK], -1000, tl.int32)
    for start in range(0, N, BLOCK):
        most = tl.maximum(most, tl.load(x + start + columns, mask=start + columns < N, other=-7))
    peak = tl.max(most, axis=0)
    last = tl.zeros([BLOCK], tl.int32)
    for start in range(0, N, BLOCK):
        last += tl.load(x + start + columns, mask=start + columns < N)
    for start in range(0, N, BLOCK):
        last += tl.load(x + start + columns, mask=start + columns < N, other=100)
    tl.store(y + columns, last + peak)

# expect: others(x=full(200,-9,i32), y=zeros(128,i32), N=200, BLOCK=128) -> y == [(-9 * 2 + (-9 if i < 72 else 0) * 2 + (0 if i < 72 else 100)) - 7 for i in range(128)]
# expect: others(x=full(3000,-9,i32), y=zeros(2048,i32), N=3000, BLOCK=2048) -> y == [-43 if i < 952 else 75 for i in range(2048)]


# A gradient in place: each element is read before it is written.
@triton.jit
def in_place(x, dx, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int32)
    for start in range(0, N, BLOCK):
        total += tl.load(x + start + columns, mask=start + columns < N, other=0)
    sum = tl.sum(total, axis=0)
    for start in range(0, N, BLOCK):
        inside = start + columns < N
        value = tl.load(x + start + columns, mask=inside, other=0)
        tl.store(dx + start + columns, value + sum, mask=inside)

@triton.jit
def one_tensor(x, N, BLOCK: tl.constexpr):
    in_place(x, x, N, BLOCK)

# expect: in_place(x=iota(700,i32), dx=zeros(700,i32), N=700, BLOCK=256) -> dx == [i + 244650 for i in range(700)]
# expect: one_tensor(x=iota(700,i32), N=700, BLOCK=256) -> x == [i + 244650 for i in range(700)]
# expect: one_tensor(x=iota(3000,i32), N=3000, BLOCK=2048) -> x == [i + 4498500 for i in range(3000)]


# The first loop writes where the second one reads, or not: `by` says.
@triton.jit
def written_between(x, y, by, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    for start in range(0, N, BLOCK):
        value = tl.load(x + start + columns, mask=start + columns < N, other=0)
        tl.debug_barrier()
        tl.store(x + by + start + columns, value * 10, mask=start + columns < N)
        tl.debug_barrier()
    for start in range(0, N, BLOCK):
        inside = start + columns < N
        tl.store(y + start + columns, tl.load(x + start + columns, mask=inside, other=0), mask=inside)

# expect: written_between(x=iota(900,i32), y=zeros(300,i32), by=0, N=300, BLOCK=128) -> y == [10 * i for i in range(300)]
# expect: written_between(x=iota(900,i32), y=zeros(300,i32), by=600, N=300, BLOCK=128) -> y == [i for i in range(300)]
# expect: written_between(x=iota(900,i32), y=zeros(300,i32), by=384, N=300, BLOCK=128) -> y == [i for i in range(300)]
# expect: written_between(x=iota(900,i32), y=zeros(300,i32), by=200, N=300, BLOCK=128) -> y == [i if i < 200 else 10 * (i - 200) for i in range(300)]
# expect: written_between(x=iota(9000,i32), y=zeros(3000,i32), by=2000, N=3000, BLOCK=2048) -> y == [i if i < 2000 else 10 * (i - 2000) for i in range(3000)]


# A number is stored between the loops, perhaps into the row.
@triton.jit
def number_between(x, y, at, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int32)
    for start in range(0, N, BLOCK):
        total += tl.load(x + start + columns, mask=start + columns < N, other=0)
    tl.store(x + at, tl.sum(total, axis=0))
    tl.debug_barrier()
    for start in range(0, N, BLOCK):
        inside = start + columns < N
        tl.store(y + start + columns, tl.load(x + start + columns, mask=inside, other=0), mask=inside)

# expect: number_between(x=ones(1000,i32), y=zeros(500,i32), at=7, N=500, BLOCK=128) -> y == [500 if i == 7 else 1 for i in range(500)]
# expect: number_between(x=ones(1000,i32), y=zeros(500,i32), at=499, N=500, BLOCK=128) -> y == [500 if i == 499 else 1 for i in range(500)]
# expect: number_between(x=ones(1000,i32), y=zeros(500,i32), at=900, N=500, BLOCK=128) -> y == [1] * 500
# expect: number_between(x=ones(2048,i32), y=zeros(1000,i32), at=7, N=1000, BLOCK=2048) -> y == [1000 if i == 7 else 1 for i in range(1000)]
# expect: number_between(x=ones(2048,i32), y=zeros(1000,i32), at=2047, N=1000, BLOCK=2048) -> y == [1] * 1000


# A step stores where the next one reads.
@triton.jit
def ahead_of_itself(x, y, by, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int32)
    for start in range(0, N, BLOCK):
        total += tl.load(x + start + columns)
    tl.store(y + columns, total)
    for start in range(0, N, BLOCK):
        value = tl.load(x + start + columns)
        tl.debug_barrier()
        tl.store(x + by + start + columns, value + 1)
        tl.debug_barrier()

# expect: ahead_of_itself(x=zeros(640,i32), y=zeros(128,i32), by=128, N=512, BLOCK=128) -> x == [i // 128 for i in range(640)]
# expect: ahead_of_itself(x=zeros(640,i32), y=zeros(128,i32), by=0, N=512, BLOCK=128) -> x == [1 if i < 512 else 0 for i in range(640)]
# expect: ahead_of_itself(x=zeros(1024,i32), y=zeros(128,i32), by=512, N=512, BLOCK=128) -> x == [0 if i < 512 else 1 for i in range(1024)]


# Rows of a program, one after the other: each is kept where the one before was.
@triton.jit
def rows(x, y, M, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        total = tl.zeros([BLOCK], tl.float16)
        for start in range(0, N, BLOCK):
            total += tl.load(x + row * N + start + columns, mask=start + columns < N, other=0.0)
        sum = tl.sum(total.to(tl.float32), axis=0)
        for start in range(0, N, BLOCK):
            inside = start + columns < N
            value = tl.load(x + row * N + start + columns, mask=inside).to(tl.float32)
            tl.store(y + row * N + start + columns, (value + sum).to(tl.float16), mask=inside)

# expect: rows(x=ones(2100,f16), y=zeros(2100,f16), M=7, N=300, BLOCK=128) -> y == [301] * 2100
# expect: rows(x=ones(4800,f16), y=zeros(4800,f16), M=3, N=1600, BLOCK=4096) -> y == [1601] * 4800


# Bytes, and numbers of 64 bits.
@triton.jit
def of_any_type(x, y, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int64)
    for start in range(0, N, BLOCK):
        total += tl.load(x + start + columns, mask=start + columns < N, other=0).to(tl.int64)
    sum = tl.sum(total, axis=0)
    for start in range(0, N, BLOCK):
        inside = start + columns < N
        tl.store(y + start + columns, tl.load(x + start + columns, mask=inside, other=0).to(tl.int64) + sum, mask=inside)

# expect: of_any_type(x=full(1000,-3,i8), y=zeros(1000,i64), N=1000, BLOCK=512) -> y == [-3003] * 1000
# expect: of_any_type(x=full(1000,-3,i64), y=zeros(1000,i64), N=1000, BLOCK=256) -> y == [-3003] * 1000
# expect: of_any_type(x=full(5000,-3,i8), y=zeros(5000,i64), N=5000, BLOCK=4096) -> y == [-15003] * 5000
# expect: of_any_type(x=full(1000,-3,i16), y=zeros(1000,i64), N=1000, BLOCK=4096) -> y == [-3003] * 1000


# Known while compiling.
@triton.jit
def from_seven(x, y, LAST: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int32)
    for start in range(7, LAST, BLOCK):
        total += tl.load(x + start + columns, mask=start + columns < LAST, other=0)
    sum = tl.sum(total, axis=0)
    for start in range(7, LAST, BLOCK):
        inside = start + columns < LAST
        tl.store(y + start + columns, tl.load(x + start + columns, mask=inside, other=0) + sum, mask=inside)

# expect: from_seven(x=iota(900,i32), y=zeros(900,i32), LAST=900, BLOCK=128) -> y == [i + 404529 if i > 6 else 0 for i in range(900)]
# expect: from_seven(x=iota(3000,i32), y=zeros(3000,i32), LAST=3000, BLOCK=2048) -> y == [i + 4498479 if i > 6 else 0 for i in range(3000)]
# expect: from_seven(x=iota(100,i32), y=zeros(100,i32), LAST=7, BLOCK=128) -> y == [0] * 100
