"""Day 8: vector addition, whole.

See:    pointers, mask and grid together, in the library's kernel (kernels/vector_add). One add for twelve bytes: the adders wait for memory, so the
        figure to watch is GB/s beside a copy, not Gflop/s.
Run:    nereid test day08_vector_add
        nereid bench day08_vector_add --match small
        (on a GPU) nereid bench day08_vector_add --match large
Change: BLOCK; the dtype. Half the bytes an element should take half the time: does it, for small n?
"""
doc = "out = x + y, with the kernels of kernels/vector_add"
library = "../../../kernels/vector_add/kernel.py"


def inputs(n, dtype):
    return dict(x=randn((n,), dtype), y=randn((n,), dtype))


def outputs(n, dtype):
    return dict(out=empty((n,), dtype))


def plain(x, y, out, n, BLOCK):
    return [launch(f"{library}:add", (cdiv(n, BLOCK),), x, y, out, n, BLOCK=BLOCK)]


def grid_stride(x, y, out, n, BLOCK):
    return [launch(f"{library}:add_grid_stride", (min(528, cdiv(n, BLOCK)),), x, y, out, n, BLOCK=BLOCK)]


cases = [dict(n=n, dtype=d) for (n, d) in ((1, "f32"), (1000, "f32"), (1000, "f16"), (4097, "bf16"))]
bench = [dict(label=f"{size} {d}", n=n, dtype=d) for (size, n) in (("small", 1 << 22), ("large", 1 << 28)) for d in ("f32", "f16")]
configs = [dict(BLOCK=b) for b in (1024, 256, 4096)]
variants = dict(plain=dict(run=plain, configs=configs), grid_stride=dict(run=grid_stride, configs=configs))
tolerance = lambda dtype: dict(rel=eps(dtype) / 2, abs=1e-45)
flops = lambda n: n
