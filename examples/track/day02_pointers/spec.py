"""Day 2: load, store, and arithmetic on pointers.

See:    a pointer plus a tile of integers is a tile of pointers. What is loaded need not lie side by side.
Run:    nereid test day02_pointers
        nereid explain day02_pointers/kernel.py:odd_elements --arg "x=randn(128,f32)" --arg "out=empty(64,f32)" --const N=64
Change: take every third element; store backwards. `explain` says which bytes each line touches.
"""
doc = "Tiles of pointers: every second element, and a reversed copy"


def inputs(N):
    return dict(x=randn((2 * N,), "f32"))


def outputs(N):
    return dict(out=empty((N,), "f32"))


cases = [dict(N=n) for n in (1, 16, 64)]
tolerance = dict(rel=0, abs=0)
tasks = dict(
    odd=dict(variants=dict(tile=lambda x, out, N: [launch("odd_elements", (1,), x, out, N=N)])),
    reversed=dict(variants=dict(tile=lambda x, out, N: [launch("reversed_copy", (1,), x, out, N=N)])),
)
