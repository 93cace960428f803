# RUN: nereid compile %s:sum_rows --signature "*fp32:16, *fp32:16, i32, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix SUMS
# RUN: nereid compile %s:sum_rows --signature "*fp32:16, *fp32:16, i32, i32:16" --target sm_90a --emit ptx --maxnreg 64 | FileCheck %s --check-prefix LIMIT
# RUN: nereid compile %s:norms --signature "*fp32:16, *fp32:16, i32, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix NORMS
# RUN: nereid compile %s:narrow --signature "*fp32:16, *fp32:16, i32, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix NORMS
# RUN: nereid compile %s:by_width --signature "*fp32:16, *fp32:16, i32, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix HALF
# RUN: nereid compile %s:once --signature "*fp32:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix NORMS
# Loads of a loop that only feed sums: `ptxas` is told how many blocks fit with all of them in flight.
import triton
import triton.language as tl


# 32 registers loaded, 32 of sums, 16 of addresses and 16 more: 5 blocks of 128 threads.
# SUMS: .reqntid 128
# SUMS-NEXT: .minnctapersm 5

# Who sets a limit means it.
# LIMIT: .maxnreg 64
# LIMIT-NOT: .minnctapersm
@triton.jit
def sum_rows(x_ptr, y_ptr, M, N):
    columns = tl.program_id(0) * 128 + tl.arange(0, 128)
    total = tl.zeros([32, 128], dtype=tl.float32)
    for start in range(0, M, 32):
        rows = start + tl.arange(0, 32)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        total += tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + columns, tl.sum(total, axis=0), mask=columns < N)


# Steps that wait for other threads, loops of a few registers, and kernels without a loop run beside other blocks.
# NORMS-NOT: .minnctapersm
# NORMS: ret;
@triton.jit
def norms(x_ptr, y_ptr, M, N):
    columns = tl.arange(0, 1024)
    total = tl.zeros([1024], dtype=tl.float32)
    for row in range(M):
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
        total += x / tl.sum(x * x)
    tl.store(y_ptr + columns, total, mask=columns < N)


@triton.jit
def narrow(x_ptr, y_ptr, M, N):
    columns = tl.arange(0, 512)
    total = tl.zeros([512], dtype=tl.float32)
    for row in range(M):
        total += tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + columns, total, mask=columns < N)


@triton.jit
def once(x_ptr, y_ptr, N):
    columns = tl.arange(0, 4096)
    x = tl.load(x_ptr + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + columns, x / tl.sum(x), mask=columns < N)


# Four vectors a thread, with divisions between their addresses, and 16 registers of sums: half of an SM's warps stay.
# HALF: .reqntid 128
# HALF-NEXT: .minnctapersm 8
@triton.jit
def by_width(x_ptr, y_ptr, M, N):
    columns = tl.arange(0, 2048)
    total = tl.zeros([2048], dtype=tl.float32)
    for start in range(0, M, 2048):
        place = start + columns
        total += tl.load(x_ptr + place // N * 2 * N + place % N, mask=place < M, other=0.0)
    tl.store(y_ptr + columns, total)
