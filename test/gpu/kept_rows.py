# RUN: nereid compile %s:two --signature "*fp16:16, *fp16:16, i32:16, 1024" --target sm_90a --emit gpu | FileCheck %s --check-prefix SHARED
# RUN: nereid compile %s:two --signature "*fp16:16, *fp16:16, i32:16, 1024" --target sm_90a --emit ptx | FileCheck %s --check-prefix PTX
# RUN: nereid compile %s:norm --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, 4096" --target sm_90a --num-warps 8 --emit gpu | FileCheck %s --check-prefix REGISTERS
# RUN: nereid compile %s:norm_with_mean --signature "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16, 4096" --target sm_90a --num-warps 8 --emit gpu | FileCheck %s --check-prefix BETWEEN
# RUN: nereid compile %s:norm --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, 4096" --target sm_90a --num-warps 8 --emit ptx | FileCheck %s --check-prefix WORDS
# RUN: nereid compile %s:norm --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, 1024" --target sm_90a --num-warps 8 --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:two --signature "*fp16:16, *fp16:16, 8192, 1024" --target sm_90a --emit gpu | FileCheck %s --check-prefix COUNTED
# RUN: nereid compile %s:otherwise_added --signature "*fp16:16, *fp16:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix ADDED
# RUN: nereid compile %s:in_place --signature "*fp16:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix INPLACE
# RUN: nereid compile %s:other_mask --signature "*fp16:16, *fp16:16, i32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:other_place --signature "*fp16:16, *fp16:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:released --signature "*fp16:16, *fp16:16, *i32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:written_over --signature "*fp16:16, *fp16:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:scattered --signature "*fp16:16, *i32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# RUN: nereid compile %s:volatile --signature "*fp16:16, *fp16:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix NONE
# What a loop loads and a later one loads again is kept, in shared memory or the first step in registers.
import triton
import triton.language as tl


# The store might write to the row: that is compared, and `y` may also be `x`.
# SHARED: %[[END:.*]] = arith.addi
# SHARED: arith.cmpi ule
# SHARED: %[[SAME:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : i64
# SHARED: %[[SAFE:.*]] = arith.ori %{{.*}}, %[[SAME]] : i1
# SHARED: %[[ROOM:.*]] = tilegpu.kept_steps bytes 2048
# SHARED: %[[COUNT:.*]] = arith.select %[[SAFE]], %[[ROOM]], %{{.*}} : i64
# SHARED: scf.for %[[I:[a-z0-9]*]] =
# SHARED: %[[X:.*]] = tile.load
# SHARED: %[[STEP:.*]] = arith.extsi %[[I]] : i32 to i64
# SHARED: %[[HAS:.*]] = arith.cmpi ult, %[[STEP]], %[[COUNT]]
# SHARED: scf.if %[[HAS]]
# SHARED: tilegpu.keep %[[X]][%[[STEP]]] at 0 of 2048
# SHARED: scf.for
# SHARED: scf.if
# SHARED: tilegpu.kept[%{{.*}}] at 0 of 2048
# SHARED: else
# SHARED: tile.load

# Nothing between threads: the barrier is that of the sum.
# PTX: %dynamic_smem_size
# PTX: ld.global
# PTX: st.shared
# PTX: bar.sync
# PTX: ld.shared
# PTX-NOT: bar.sync

# COUNTED: tilegpu.kept_steps bytes 2048 most 8
@triton.jit
def two(x, y, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        total += tl.load(x + start + columns, mask=start + columns < N, other=0.0)
    mean = tl.sum(total, axis=0) / N
    for start in range(0, N, BLOCK):
        inside = start + columns < N
        tl.store(y + start + columns, tl.load(x + start + columns, mask=inside) - mean, mask=inside)


# Weights are wanted in the first-level cache: the first step of the row waits in registers, and stands in for what the
# loads of the first step, which have no lane, would give. The store comes behind what the first step reads: nothing is compared.
# REGISTERS-NOT: kept_steps
# REGISTERS-NOT: arith.cmpi ule
# REGISTERS: %[[X:.*]] = tile.load
# REGISTERS: scf.for %[[I:[a-z0-9]*]] = %c0_i32
# REGISTERS: %[[LATER:.*]] = arith.cmpi ne, %[[I]], %c0_i32
# REGISTERS: %[[OTHER:.*]] = arith.select %[[LATER]], %{{.*}}, %[[X]]
# REGISTERS: tile.load %{{.*}} mask %{{.*}} other %[[OTHER]]
# REGISTERS: scf.for %[[J:[a-z0-9]*]] = %c0_i32
# REGISTERS: %[[LATER:.*]] = arith.cmpi ne, %[[J]], %c0_i32
# REGISTERS: %[[OTHER:.*]] = arith.select %[[LATER]], %{{.*}}, %[[X]]
# REGISTERS: tile.load %{{.*}} mask %{{.*}} other %[[OTHER]]
# A store in between is compared with the first step's bytes: four of 8192 by one comparison.
# BETWEEN: %[[DISTANCE:.*]] = arith.subi %{{.*}} : i64
# BETWEEN: %[[FROM:.*]] = arith.constant 3 : i64
# BETWEEN: %[[BEHIND:.*]] = arith.addi %[[DISTANCE]], %[[FROM]] : i64
# BETWEEN: %[[TO:.*]] = arith.constant 8195 : i64
# BETWEEN: %[[SAFE:.*]] = arith.cmpi uge, %[[BEHIND]], %[[TO]] : i64
# BETWEEN: scf.for
# BETWEEN: tile.store
# BETWEEN: scf.for
# BETWEEN: arith.xori %[[SAFE]]
# BETWEEN: arith.select
# BETWEEN: tile.load

# The words of a masked load are chosen before it, whole, where numbers are halves.
# WORDS: ld.global.v4.b32
# WORDS: selp.b32 %[[WORD:r[0-9]+]], 0, %r{{[0-9]+}}, %p
# WORDS: @%p{{[0-9]+}} ld.global.v4.b32 {%[[WORD]],
@triton.jit
def norm(x, w, y, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    x += tl.program_id(0) * N
    y += tl.program_id(0) * N
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        total += tl.load(x + start + columns, mask=start + columns < N, other=0.0)
    mean = tl.sum(total, axis=0) / N
    for start in range(0, N, BLOCK):
        inside = start + columns < N
        value = tl.load(x + start + columns, mask=inside) - mean
        tl.store(y + start + columns, value * tl.load(w + start + columns, mask=inside), mask=inside)


@triton.jit
def norm_with_mean(x, w, y, means, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    x += tl.program_id(0) * N
    y += tl.program_id(0) * N
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        total += tl.load(x + start + columns, mask=start + columns < N, other=0.0)
    mean = tl.sum(total, axis=0) / N
    tl.store(means + tl.program_id(0), mean)
    for start in range(0, N, BLOCK):
        inside = start + columns < N
        value = tl.load(x + start + columns, mask=inside) - mean
        tl.store(y + start + columns, value * tl.load(w + start + columns, mask=inside), mask=inside)


# ADDED: tilegpu.keep
# ADDED: tilegpu.kept[
@triton.jit
def otherwise_added(x, y, N):
    columns = tl.arange(0, 512)
    total = tl.zeros([512], tl.float32)
    for start in range(0, N, 512):
        total += tl.load(x + (start + columns), mask=start + columns < N, other=0.0)
    mean = tl.sum(total, axis=0) / N
    for start in range(0, N, 512):
        at = columns + start
        tl.store(y + at, tl.load(x + start + columns, mask=at < N) - mean, mask=at < N)


# INPLACE: tilegpu.keep
# INPLACE: tilegpu.kept[
@triton.jit
def in_place(x, N):
    two(x, x, N, 512)


# NONE: scf.for
# NONE-NOT: kept
# NONE: return
@triton.jit
def other_mask(x, y, N, M):
    columns = tl.arange(0, 512)
    total = tl.zeros([512], tl.float32)
    for start in range(0, N, 512):
        total += tl.load(x + start + columns, mask=start + columns < N, other=0.0)
    mean = tl.sum(total, axis=0) / N
    for start in range(0, N, 512):
        tl.store(y + start + columns, tl.load(x + start + columns, mask=start + columns < M) - mean)


@triton.jit
def other_place(x, y, N):
    columns = tl.arange(0, 512)
    total = tl.zeros([512], tl.float32)
    for start in range(0, N, 512):
        total += tl.load(x + start + columns)
    mean = tl.sum(total, axis=0) / N
    for start in range(0, N, 512):
        tl.store(y + start + columns, tl.load(x + start + 512 + columns) - mean)


# Another program may have written the row by then.
@triton.jit
def released(x, y, lock, N):
    columns = tl.arange(0, 512)
    total = tl.zeros([512], tl.float32)
    for start in range(0, N, 512):
        total += tl.load(x + start + columns)
    tl.atomic_add(lock, 1)
    mean = tl.sum(total, axis=0) / N
    for start in range(0, N, 512):
        tl.store(y + start + columns, tl.load(x + start + columns) - mean)


@triton.jit
def written_over(x, y, N):
    columns = tl.arange(0, 512)
    for start in range(0, N, 512):
        tl.store(x + start + columns, tl.load(x + start + columns) * 2)
    for start in range(0, N, 512):
        tl.store(y + start + columns, tl.load(x + start + columns))


# Nobody knows where this writes.
@triton.jit
def scattered(x, places, N):
    columns = tl.arange(0, 512)
    total = tl.zeros([512], tl.float32)
    for start in range(0, N, 512):
        total += tl.load(x + start + columns)
        tl.store(x + tl.load(places + start + columns), 0.0)
    mean = tl.sum(total, axis=0) / N
    for start in range(0, N, 512):
        tl.store(x + start + columns, tl.load(x + start + columns) - mean)


@triton.jit
def volatile(x, y, N):
    columns = tl.arange(0, 512)
    total = tl.zeros([512], tl.float32)
    for start in range(0, N, 512):
        total += tl.load(x + start + columns, volatile=True)
    mean = tl.sum(total, axis=0) / N
    for start in range(0, N, 512):
        tl.store(y + start + columns, tl.load(x + start + columns) - mean)
