#!/usr/bin/env python3
"""What the way in which the second-level cache is emptied costs a kernel that reads memory.

Overwriting a large buffer leaves the cache full of lines that memory has not seen yet; they are written back while the next
kernel runs. Reading one leaves lines that are dropped for nothing. One line a size: the medians of both, for a kernel that
reads only and for one that writes as much as it reads. Needs torch and triton.

usage: bench/cold_cache.py [MB...]
"""
import statistics
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def read(x_ptr, out_ptr, STEPS, BLOCK: tl.constexpr):
    """A slice of STEPS blocks a program; its sum is stored."""
    columns = tl.arange(0, BLOCK)
    first = tl.program_id(0).to(tl.int64) * STEPS * BLOCK
    total = tl.zeros([BLOCK], dtype=tl.int32)
    for step in range(STEPS):
        total += tl.load(x_ptr + first + step * BLOCK + columns)
    tl.store(out_ptr + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


def median(run, empty, samples=100):
    run()
    pairs = []
    for _ in range(samples):
        pairs.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
        empty()
        pairs[-1][0].record()
        run()
        pairs[-1][1].record()
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) for begin, end in pairs) * 1e3


def main():
    scrub, other = (torch.zeros(64 << 20, dtype=torch.int32, device="cuda") for _ in range(2))
    sums = torch.empty(1 << 16, dtype=torch.int32, device="cuda")

    def written():
        scrub.fill_(1)

    def read_over():
        scrub.fill_(1)
        read[(2048,)](other, sums, 16, BLOCK=2048)

    print("MB      read only: written, read over (us)    copy: written, read over (us)")
    for megabytes in map(int, sys.argv[1:] or ["8", "16", "32", "64", "128", "256", "1024"]):
        elements = megabytes << 18
        x, y = (torch.ones(elements, dtype=torch.int32, device="cuda") for _ in range(2))
        programs = min(528, elements // 2048)
        steps = elements // 2048 // programs
        reading = lambda: read[(programs,)](x, sums, steps, BLOCK=2048, num_warps=8)
        copying = lambda: copy[(elements // 2048,)](x, y, BLOCK=2048)
        print(f"{megabytes:5} {median(reading, written):22.1f} {median(reading, read_over):10.1f} {median(copying, written):26.1f} {median(copying, read_over):10.1f}")


if __name__ == "__main__":
    main()
