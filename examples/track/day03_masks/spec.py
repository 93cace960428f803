"""Day 3: masks.

See:    a tile has a power of two of lanes, data has any length. Lanes without an element must touch no memory, and `other` says what they load.
Run:    nereid test day03_masks
        nereid check day03_masks/kernel.py:shift --grid "(2,)" --arg "x=randn(100,f32)" --arg "out=empty(100,f32)" --arg n=100 --const BLOCK=64
Change: remove the mask of the load, then that of the store; `check` names the line and the element.
"""
doc = "out[i] = x[i - 1], out[0] = 0, for any n"


def inputs(n):
    return dict(x=randn((n,), "f32"))


def outputs(n):
    return dict(out=empty((n,), "f32"))


def shift(x, out, n, BLOCK=64):
    return [launch("shift", (cdiv(n, BLOCK),), x, out, n, BLOCK=BLOCK)]


cases = [dict(n=n) for n in (1, 63, 64, 65, 1000)]
variants = dict(shift=shift)
tolerance = dict(rel=0, abs=0)
