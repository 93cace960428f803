"""Day 7: coalescing, a good and a bad pattern.

See:    both variants move each element once. In `neighbours` the lanes of a warp ask for bytes side by side, 4 sectors of 32 bytes a request of 128 bytes; in
        `scattered` each lane asks for a sector of its own, of which it uses 4 bytes. Equal work, up to eight times the traffic.
Run:    nereid test day07_coalescing
        nereid inspect day07_coalescing/kernel.py:neighbours --target sm_90a --arg "x=empty(1048576,f32)" --arg "out=empty(1048576,f32)" --arg n=1048576 --const BLOCK=1024 --grid "(1024,)"
        nereid inspect day07_coalescing/kernel.py:scattered --target sm_90a --arg "x=empty(1048576,f32)" --arg "out=empty(1048576,f32)" --arg n=1048576 --const BLOCK=1024 --grid "(1024,)"
        nereid bench day07_coalescing --match small
        (on a GPU) nereid bench day07_coalescing --match large
Change: the distance between lanes (`i * step`): 2, 4, 8, 16. From 8 elements of 4 bytes on, each lane has a sector of its own.
"""
doc = "A copy whose lanes are neighbours, and one whose lanes are far apart"


def inputs(n):
    return dict(x=randn((n,), "f32"))


def outputs(n):
    return dict(out=empty((n,), "f32"))


def neighbours(x, out, n):
    return [launch("neighbours", (cdiv(n, 1024),), x, out, n, BLOCK=1024)]


def scattered(x, out, n):
    return [launch("scattered", (cdiv(n, 1024),), x, out, n, BLOCK=1024)]


cases = [dict(n=n) for n in (1, 1024, 5000)]
bench = [dict(label="small", n=1 << 22), dict(label="large", n=1 << 28)]
variants = dict(neighbours=neighbours, scattered=scattered)
tolerance = dict(rel=0, abs=0)
