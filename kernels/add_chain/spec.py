doc = "out = a + b + c + d: a chain of three additions in one launch and in three"


def inputs(n, dtype):
    return dict(a=randn((n,), dtype), b=randn((n,), dtype), c=randn((n,), dtype), d=randn((n,), dtype))


def outputs(n, dtype):
    return dict(out=empty((n,), dtype))


def fused(a, b, c, d, out, n, BLOCK, num_warps):
    return [launch("add_all", (cdiv(n, BLOCK),), a, b, c, d, out, n, BLOCK=BLOCK, num_warps=num_warps)]


def unfused(a, b, c, d, out, n, BLOCK, num_warps):
    grid = (cdiv(n, BLOCK),)
    # In f32, so that only the launches differ.
    ab = empty((n,), "f32")
    abc = empty((n,), "f32")
    return [
        launch("add_two", grid, a, b, ab, n, BLOCK=BLOCK, num_warps=num_warps),
        launch("add_two", grid, ab, c, abc, n, BLOCK=BLOCK, num_warps=num_warps),
        launch("add_two", grid, abc, d, out, n, BLOCK=BLOCK, num_warps=num_warps),
    ]


configs = [dict(BLOCK=b, num_warps=w) for (b, w) in ((1024, 4), (2048, 8), (512, 4), (4096, 8))]
variants = dict(fused=dict(run=fused, configs=configs), unfused=dict(run=unfused, configs=configs))
cases = [
    *[dict(n=n, dtype="f32") for n in (1, 1000, 4096, 5001)],
    *[dict(n=1000, dtype=d) for d in ("f16", "bf16")],
    dict(label="empty", n=0, dtype="f32"),
    *[dict(n=100, dtype=d, special="a") for d in ("f32", "f16", "bf16")],
]
demo = [dict(check=True, n=1 << 20, dtype="f32")]
bench = [dict(n=1 << k, dtype="f32") for k in (16, 20, 24, 28)]


def tolerance(dtype):
    # Three roundings of sums of order 1 in f32, then one to dtype.
    return dict(rel=eps(dtype) / 2, abs=8 * eps("f32") + (3e-8 if dtype == "f16" else 0))


flops = lambda n: 3 * n
peers = dict(torch="a + b + c + d")
