"""Day 5: block programming.

See:    you write what happens to a block; the compiler spreads it over threads. The text is the same for 64 lanes and for 4096, with 1 warp or 8, so
        the block is a number to be tuned and not a design.
Run:    nereid test day05_blocks --all-configs
        nereid inspect day05_blocks/kernel.py:polynomial --target sm_90a --arg "x=empty(65536,f32)" --arg "out=empty(65536,f32)" --arg n=65536 --const BLOCK=1024 --grid "(64,)"
Change: BLOCK and `--num-warps` of `inspect`: registers a thread, bytes an access. Then add a term to the polynomial: the memory traffic stays.
"""
doc = "A polynomial of each element"


def inputs(n):
    return dict(x=rand((n,), "f32", low=-1, high=1))


def outputs(n):
    return dict(out=empty((n,), "f32"))


def block(x, out, n, BLOCK, num_warps):
    return [launch("polynomial", (cdiv(n, BLOCK),), x, out, n, BLOCK=BLOCK, num_warps=num_warps)]


cases = [dict(n=n) for n in (1, 1000, 5000)]
variants = dict(block=dict(run=block, configs=[dict(BLOCK=b, num_warps=w) for (b, w) in ((1024, 4), (64, 1), (4096, 8))]))
# Five terms of at most 1, each off by less than a unit.
tolerance = lambda: dict(rel=0, abs=10 * eps("f32"))
flops = lambda n: 8 * n
