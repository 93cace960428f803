# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, 3" --target sm_90a --emit gpu --num-stages 3 --program-loops all | FileCheck %s
# RUN: nereid compile %s:product --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, 3" --target sm_90a --emit gpu --num-stages 3 --program-loops on | FileCheck %s --check-prefix=PLAIN
# RUN: nereid compile %s:blocks --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, i32" --target sm_90a --emit gpu --num-stages 4 --program-loops on | FileCheck %s --check-prefix=BULK
# RUN: nereid compile %s:blocks --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, i32" --target sm_90a --emit gpu --num-stages 4 | FileCheck %s --check-prefix=PLAIN
# RUN: nereid inspect %s:blocks --signature "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, i32" --target sm_90a --program-loops on --num-stages 4 | FileCheck %s --check-prefix=SEVERAL
# RUN: nereid inspect %s:product --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, 3" --target sm_90a --program-loops on | FileCheck %s --check-prefix=POINTERS
# RUN: nereid inspect %s:two --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --program-loops on | FileCheck %s --check-prefix=TWO
# RUN: nereid inspect %s:last --signature "*fp16:16, *fp16:16, *fp16:16, *i32, i32:16" --target sm_90a --program-loops on | FileCheck %s --check-prefix=LAST
# RUN: nereid inspect %s:early --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --program-loops on | FileCheck %s --check-prefix=EARLY
# SEVERAL: a block runs several programs
# POINTERS: a block runs one program: copies that the copy engine does not make
# TWO: a block runs one program: loops beside that of products
# LAST: a block runs one program: an atomic access of which the result is used
# EARLY: a block runs one program: a loop of products that not every program reaches
# A block runs several programs of a kernel with one loop of products: copies go on into the next program's steps.
import triton
import triton.language as tl


# The entry takes the grid that the program sees, as far as it asks for it; a program's place comes of its number.
# CHECK: func.func @product({{.*}}, %[[X:arg4]]: i32, %[[Y:arg5]]: i32)
# CHECK: %[[ALL:.*]] = arith.muli %[[X]], %[[Y]]
# CHECK: %[[BLOCK:.*]] = tile.program_id 0
# CHECK: %[[BLOCKS:.*]] = tile.num_programs 0
# CHECK: scf.for %{{[^ ]*}} = %[[BLOCK]] to %[[ALL]] step %[[BLOCKS]]
# CHECK: scf.for
# CHECK: tile.dot
# CHECK: tilegpu.copy_async
# CHECK: tile.remui %{{.*}}, %[[X]]
# CHECK: tile.divui %{{.*}}, %[[X]]
# CHECK: tile.store
# CHECK: tile.runs_on = false
# PLAIN-NOT: tile.runs_on
@triton.jit
def product(a, b, c, K, BATCHES: tl.constexpr):
    m, batch = tl.program_id(0), tl.program_id(1)
    r = tl.arange(0, 64)
    x = a + batch * 4096 * K + (m * 64 + r[:, None]) * K + r[None, :]
    y = b + batch * 64 * K + r[:, None] * 64 + r[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, tl.cdiv(K, 64)):
        acc = tl.dot(tl.load(x + k * 64), tl.load(y + k * 4096), acc)
    tl.store(c + (batch * 4096 + m * 64 + r[:, None]) * 64 + r[None, :], acc.to(tl.float16))


# Two loops: the copies of which would go on?
@triton.jit
def two(a, b, c, K):
    r = tl.arange(0, 64)
    x = a + (tl.program_id(0) * 64 + r[:, None]) * K + r[None, :]
    y = b + r[:, None] * 64 + r[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, tl.cdiv(K, 64)):
        acc = tl.dot(tl.load(x + k * 64), tl.load(y + k * 4096), acc)
    for k in range(0, tl.cdiv(K, 64)):
        acc = tl.dot(tl.load(x + k * 64), tl.load(y + k * 4096), acc)
    tl.store(c + (tl.program_id(0) * 64 + r[:, None]) * 64 + r[None, :], acc.to(tl.float16))


# Programs that talk to one another: the last one knows that it is.
@triton.jit
def last(a, b, c, count, K):
    r = tl.arange(0, 64)
    x = a + (tl.program_id(0) * 64 + r[:, None]) * K + r[None, :]
    y = b + r[:, None] * 64 + r[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, tl.cdiv(K, 64)):
        acc = tl.dot(tl.load(x + k * 64), tl.load(y + k * 4096), acc)
    if tl.atomic_add(count, 1) == tl.num_programs(0) - 1:
        tl.store(c + r[:, None] * 64 + r[None, :], acc.to(tl.float16))


# Programs that may have nothing to do.
@triton.jit
def early(a, b, c, K):
    if tl.program_id(0) * 64 >= K:
        return
    r = tl.arange(0, 64)
    x = a + (tl.program_id(0) * 64 + r[:, None]) * K + r[None, :]
    y = b + r[:, None] * 64 + r[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, tl.cdiv(K, 64)):
        acc = tl.dot(tl.load(x + k * 64), tl.load(y + k * 4096), acc)
    tl.store(c + (tl.program_id(0) * 64 + r[:, None]) * 64 + r[None, :], acc.to(tl.float16))


# Blocks by the copy engine: one loop over all steps of all programs.
# BULK: func.func @blocks({{.*}}, %[[X:arg4]]: i32)
# BULK: scf.for %{{.*}} = %{{.*}} to %[[X]] step
# BULK: tilegpu.copy_bulk
# BULK: tile.desc_store
# BULK: tile.runs_on = true
@triton.jit
def blocks(a, b, c, K):
    m = tl.program_id(0) * 64
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, tl.cdiv(K, 64)):
        acc = tl.dot(a.load([m, k * 64]), b.load([k * 64, 0]), acc)
    c.store([m, 0], acc.to(tl.float16))
