# RUN: nereid compile %s:rows --signature "*fp32:16, *fp32:16, i32:16, 3" --target sm_90a --emit gpu | FileCheck %s --check-prefix TWO
# RUN: nereid compile %s:rows --signature "*fp32:16, *fp32:16, i32:16, 1" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:unasked --signature "*fp32:16, *fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:in_place --signature "*fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:chased --signature "*fp32:16, *fp32:16, *i32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix CHASED
# RUN: nereid compile %s:numbered --signature "*fp32:16, *fp32:16, *i32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix KEPT
# RUN: nereid compile %s:renumbered --signature "*fp32:16, *fp32:16, *i32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:paged --signature "*fp16:16, *fp16:16, *fp16:16, *i32:16, *fp32:16, i32, i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix PAGED
# RUN: nereid compile %s:locked --signature "*fp32:16, *fp32:16, *i32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:with_numbers --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NUMBERS
# RUN: nereid compile %s:numbers_alone --signature "*fp32:16, *fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:large --signature "*fp32:16, *fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix ONE
# RUN: nereid compile %s:scaled --signature "*bf16:16, *i8:16, *bf16:16, *fp32:16, i32:16, 3" --target sm_90a --emit gpu | FileCheck %s --check-prefix SCALED
# RUN: nereid compile %s:scaled --signature "*bf16:16, *i8:16, *bf16:16, *fp32:16, i32:16, 1" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:scaled_in_place --signature "*bf16:16, *i8:16, *bf16:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:triangle --signature "*fp32:16, *fp32:16, i32" --target sm_90a --num-warps 1 --emit gpu | FileCheck %s --check-prefix TRIANGLE
# RUN: nereid compile %s:gates --signature "*bf16:16, *fp32:16, *bf16:16, *bf16:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix GATES
# RUN: nereid compile %s:gates_in_place --signature "*bf16:16, *fp32:16, *bf16:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# Where a loop without products says how many stages it has, its loads start steps ahead in registers.
import triton
import triton.language as tl


# Two steps ahead: two before the loop, and in it two steps in a row, each with the load of the step after the next. What
# the first one loads waits where the first one's did. A last step may be left over, which starts nothing.
# TWO: tile.load
# TWO: tile.load
# TWO: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{[^ ]*}}, {{.*}} -> (tensor<1024xf32{{.*}}>, tensor<1024xf32{{.*}}>, i64)
# TWO: %[[C:.*]] = tile.load
# TWO: tile.reduce(%[[A]])
# TWO: tile.store
# TWO: %[[D:.*]] = tile.load
# TWO: tile.reduce(%[[B]])
# TWO: tile.store
# TWO: scf.yield %[[C]], %[[D]],
# TWO: scf.for
# TWO-NOT: tile.load
# TWO: tile.reduce
# TWO: scf.yield

# NONE-NOT: tile.load
# NONE: scf.for
# NONE: tile.load
@triton.jit
def rows(x, y, M, STAGES: tl.constexpr):
    columns = tl.arange(0, 1024)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=STAGES):
        tile = tl.load(x + row * 1024 + columns)
        tl.store(y + row * 1024 + columns, tile - tl.max(tile, axis=0))


# The stages that a launch is given are for loops with products.
@triton.jit
def unasked(x, y, M):
    columns = tl.arange(0, 1024)
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        tile = tl.load(x + row * 1024 + columns)
        tl.store(y + row * 1024 + columns, tile - tl.max(tile, axis=0))


# A step stores where the next one may load.
@triton.jit
def in_place(x, M):
    columns = tl.arange(0, 1024)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=2):
        tile = tl.load(x + row * 1024 + columns)
        tl.store(x + row * 1024 + columns, tile - tl.max(tile, axis=0))


# What the numbers lead to starts one step ahead, and the numbers a step before that.
# CHASED: tile.load {{.*}}i32
# CHASED: %[[LATER:.*]] = tile.load {{.*}}i32
# CHASED: %[[FIRST:.*]] = tile.load {{.*}}f32
# CHASED: scf.for {{.*}} iter_args(%[[ROW:.*]] = %[[FIRST]], %[[PLACES:.*]] = %[[LATER]]) -> (tensor<1024xf32{{[^>]*}}>, tensor<1024xi32{{[^>]*}}>)
# CHASED: tile.addptr %{{.*}}, %[[PLACES]]
# CHASED: %[[NEXT:.*]] = tile.load {{.*}} mask {{.*}}f32
# CHASED: %[[AFTER:.*]] = tile.load {{.*}} mask {{.*}}i32
# CHASED: tile.store %{{.*}}, %[[ROW]]
# CHASED-NOT: tile.load
# CHASED: scf.yield %[[NEXT]], %[[AFTER]]
@triton.jit
def chased(x, y, index, M):
    columns = tl.arange(0, 1024)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=2):
        places = tl.load(index + row * 1024 + columns)
        tl.store(y + row * 1024 + columns, tl.load(x + places))


# Numbers that a step wants by themselves, too, wait with what they lead to.
# KEPT: scf.for {{.*}} iter_args(%[[NUMBER:[a-z0-9]*]] = %{{[0-9]*}}, %{{[a-z0-9]*}} = %{{[0-9]*}}, %[[LATER:[a-z0-9]*]] = %{{[0-9]*}}) -> (i32, tensor<1024xf32{{[^>]*}}>, i32)
# KEPT: tile.load {{.*}} mask {{.*}}f32
# KEPT: %[[AFTER:.*]] = tile.load {{.*}} mask {{.*}} -> i32
# KEPT: arith.sitofp %[[NUMBER]]
# KEPT-NOT: tile.load
# KEPT: scf.yield %[[LATER]], %{{[0-9]*}}, %[[AFTER]]
@triton.jit
def numbered(x, y, index, M):
    columns = tl.arange(0, 1024)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=2):
        place = tl.load(index + row)
        tl.store(y + row * 1024 + columns, tl.load(x + place * 1024 + columns) + place.to(tl.float32))


# The step stores the numbers of the next one.
@triton.jit
def renumbered(x, y, index, M):
    columns = tl.arange(0, 1024)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=2):
        place = tl.load(index + row)
        tl.store(y + row * 1024 + columns, tl.load(x + place * 1024 + columns))
        tl.store(index + row + 1, place + 1)


# Pages of which the keys are no copies, since the stride of their rows is not known to be even: they start a step
# ahead, in front of the wait for the values' copies.
# PAGED: scf.for {{.*}} -> (tensor<16x64xf32{{[^>]*}}>, i32, i32, tensor<64x16xf16{{[^>]*}}>, i32)
# PAGED: tile.load {{.*}} mask {{.*}}f16
# PAGED: tile.load {{.*}} mask {{.*}} -> i32
# PAGED: tilegpu.wait_copies
# PAGED-NOT: tile.load
# PAGED: scf.yield
@triton.jit
def paged(q, keys, values, table, out, pages, stride):
    i, d, n = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 16)
    a = tl.load(q + i[:, None] * 64 + d[None, :])
    acc = tl.zeros([16, 64], tl.float32)
    for page in range(pages):
        at = tl.load(table + page)
        k = tl.load(keys + at * 1024 + d[:, None] * stride + n[None, :])
        v = tl.load(values + at * 1024 + n[:, None] * 64 + d[None, :])
        acc += tl.dot(tl.dot(a, k).to(tl.float16), v)
    tl.store(out + i[:, None] * 64 + d[None, :], acc)


# What waits for other programs orders the loads behind it.
@triton.jit
def locked(x, y, lock, M):
    columns = tl.arange(0, 1024)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=2):
        tl.atomic_add(lock + row, 1, sem="acquire")
        tl.store(y + row * 1024 + columns, tl.load(x + row * 1024 + columns))


# 64 bytes of a thread a step: two steps ahead where four were asked for.
# ONE: scf.for {{.*}} -> (tensor<2048xf32{{[^>]*}}>, tensor<2048xf32{{[^>]*}}>, i64)
@triton.jit
def large(x, y, M):
    columns = tl.arange(0, 2048)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=5):
        tl.store(y + row * 2048 + columns, tl.load(x + row * 2048 + columns) * 2.0)


# A row's mean comes ahead with the row, masked as it is where there is no such row.
# NUMBERS: tile.load {{.*}} -> f32
# NUMBERS: scf.for {{.*}} -> (tensor<1024xf32{{[^>]*}}>, f32)
# NUMBERS: tile.load {{.*}} mask %{{.*}} : i1 {{.*}}-> f32
# NUMBERS: tile.store
# NUMBERS-NOT: tile.load
@triton.jit
def with_numbers(x, mean, y, M):
    columns = tl.arange(0, 1024)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=2):
        tl.store(y + row * 1024 + columns, tl.load(x + row * 1024 + columns) - tl.load(mean + row))


# No row waits for these.
@triton.jit
def numbers_alone(x, y, M):
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=2):
        tl.store(y + row, tl.load(x + row) * 2.0)


# Bytes that are no copies come a step ahead of the product that they feed, by pointers that steps carry.
# SCALED: tilegpu.commit_copies
# SCALED: tile.load {{.*}}xi8
# SCALED: scf.for
# SCALED: tile.load {{.*}} mask {{.*}}xi8
# SCALED: tilegpu.wait_copies
# SCALED-NOT: tile.load
# SCALED: tile.dot
# SCALED: scf.yield {{.*}}tensor<128x1xi8
@triton.jit
def scaled(x, scales, y, z, K, STAGES: tl.constexpr):
    rows, columns, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    a = x + rows[:, None] * K + k[None, :]
    b = y + columns[None, :] * K + k[:, None]
    scale = scales + rows[:, None] * (K // 64)
    acc = tl.zeros([128, 128], tl.float32)
    for i in tl.range(0, K, 64, num_stages=STAGES):
        acc += tl.dot((tl.load(a) * tl.load(scale)).to(tl.bfloat16), tl.load(b))
        a += 64
        b += 64
        scale += 1
    tl.store(z + rows[:, None] * 128 + columns[None, :], acc)


# A step stores the scales of the next one: for all that is known it stores operands, too.
@triton.jit
def scaled_in_place(x, scales, y, K):
    rows, columns, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    for i in range(0, K, 64):
        scale = tl.load(scales + rows)
        a = tl.load(x + rows[:, None] * K + i + k[None, :])
        b = tl.load(y + columns[None, :] * K + i + k[:, None])
        sums = tl.sum(tl.dot((a * scale[:, None]).to(tl.bfloat16), b), axis=1)
        tl.store(scales + rows, sums.to(tl.int8))


# A step that reduces what the one before it gave starts behind it, and its few numbers ahead of it, though nobody asks.
# TRIANGLE: tile.load {{.*}} mask %{{.*}} -> tensor<16xf32
# TRIANGLE: scf.for
# TRIANGLE: tile.load {{.*}} mask {{.*}}16xf32
# TRIANGLE-NOT: tile.load
# TRIANGLE: tile.reduce
# TRIANGLE: scf.yield
@triton.jit
def triangle(x, y, M):
    i = tl.arange(0, 16)
    inverse = tl.load(x + i[:, None] * 16 + i[None, :])
    for row in range(2, M):
        a = tl.load(x + row * 16 + i)
        a += tl.sum(a[:, None] * inverse, 0)
        inverse = tl.where((i == row)[:, None], a, inverse)
    tl.store(y + i[:, None] * 16 + i[None, :], inverse)


# Gates of a state that the next product takes come a step ahead of theirs, past stores to another argument.
# GATES: tile.load {{.*}}64xf32
# GATES: scf.for
# GATES: tile.load {{.*}} mask {{.*}}64xf32
# GATES: tile.store
# GATES-NOT: tile.load
# GATES: scf.yield
@triton.jit
def gates(x, g, y, z, K):
    i = tl.arange(0, 64)
    state = tl.zeros([64, 64], tl.float32)
    for k in range(0, K, 64):
        a = tl.load(x + i[:, None] * K + k + i[None, :])
        gate = tl.load(g + k + i)
        tl.store(y + k * 64 + i[:, None] * 64 + i[None, :], state.to(tl.bfloat16))
        state = state * gate[:, None] + tl.dot(a, state.to(tl.bfloat16)) * 0.5
    tl.store(z + i[:, None] * 64 + i[None, :], state.to(tl.bfloat16))


# A step stores the gates of the next one.
@triton.jit
def gates_in_place(x, g, z, K):
    i = tl.arange(0, 64)
    state = tl.zeros([64, 64], tl.float32)
    for k in range(0, K, 64):
        a = tl.load(x + i[:, None] * K + k + i[None, :])
        gate = tl.load(g + i)
        state = state * gate[:, None] + tl.dot(a, state.to(tl.bfloat16)) * 0.5
        tl.store(g + i, tl.sum(state, 1))
    tl.store(z + i[:, None] * 64 + i[None, :], state.to(tl.bfloat16))
