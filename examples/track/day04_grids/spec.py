"""Day 4: program ids and grids.

See:    the grid says how many programs there are; the kernel says which elements a program takes. Two ways to share n elements: a block each, or
        a fixed number of programs that stride over all blocks.
Run:    nereid test day04_grids
        nereid run day04_grids/kernel.py:block_each --grid "(3,)" --arg "out=empty(10,i32)" --arg n=10 --const BLOCK=4 --print out
Change: BLOCK in the case; the number of programs of the second way. Which element belongs to whom?
"""
doc = "Which program writes which element"


def inputs():
    return dict()


def outputs(n):
    return dict(out=empty((n,), "i32"))


cases = [dict(n=n, BLOCK=b, programs=p) for (n, b, p) in ((10, 4, 2), (1000, 64, 5), (64, 64, 3))]
tolerance = dict(rel=0, abs=0)
tasks = dict(
    block_each=dict(variants=dict(block=lambda out, n, BLOCK: [launch("block_each", (cdiv(n, BLOCK),), out, n, BLOCK=BLOCK)])),
    striding=dict(variants=dict(stride=lambda out, n, BLOCK, programs: [launch("striding", (programs,), out, n, BLOCK=BLOCK)])),
)
