doc = "out = x + y"


def inputs(n, dtype, values="normal", offset=0):
    if values == "special":
        return dict(x=special((n,), dtype), y=full((n,), 1.5, dtype))
    if dtype in ("i8", "i32", "i64"):
        return dict(x=randint((n,), -60, 60, dtype), y=randint((n,), -60, 60, dtype))
    return dict(x=randn((n,), dtype, offset=offset), y=randn((n,), dtype, offset=offset))


def outputs(n, dtype):
    return dict(out=empty((n,), dtype))


def plain(x, y, out, n, BLOCK, num_warps):
    return [launch("add", (cdiv(n, BLOCK),), x, y, out, n, BLOCK=BLOCK, num_warps=num_warps)]


def grid_stride(x, y, out, n, BLOCK, PROGRAMS):
    return [launch("add_grid_stride", (min(PROGRAMS, cdiv(n, BLOCK)),), x, y, out, n, BLOCK=BLOCK)]


variants = dict(
    plain=dict(run=plain, configs=[dict(BLOCK=b, num_warps=w) for b in (1024, 256, 4096) for w in (4, 8)]),
    grid_stride=dict(run=grid_stride, configs=[dict(BLOCK=1024, PROGRAMS=p) for p in (132, 528)]),
)

cases = [
    *[dict(n=n, dtype="f32") for n in (1, 16, 1000, 1024, 4097)],
    *[dict(n=1000, dtype=d) for d in ("f16", "bf16", "f64", "i8", "i32", "i64")],
    dict(label="special values", n=64, dtype="f32", values="special"),
    dict(label="unaligned", n=1025, dtype="f32", offset=1),
    dict(label="empty", n=0, dtype="f32"),
]
demo = [dict(n=1 << 22, dtype="f32")]
bench = [dict(n=1 << k, dtype="f32") for k in (12, 16, 20, 24, 28)]


def tolerance(dtype):
    # One rounding of the sum: half a unit in the last place.
    return dict(rel=eps(dtype) / 2 if dtype in ("f16", "bf16", "f32", "f64") else 0, abs=1e-45)


flops = lambda n: n
peers = dict(torch="x + y")
