doc = "Running sums along rows and along a long vector, and histograms"


def rows_inputs(M, N, dtype):
    return dict(x=randint((M, N), -100, 100, dtype) if dtype == "i32" else randn((M, N), dtype))


def rows_outputs(M, N, dtype):
    return dict(y=empty((M, N), dtype))


def each_row(x, y, M, N, BLOCK, num_warps):
    return [launch("cumsum_rows", (M,), x, y, x.stride(0), N, BLOCK=BLOCK, num_warps=num_warps)]


def vector_inputs(n, dtype):
    return dict(x=randn((n,), dtype))


def vector_outputs(n):
    return dict(y=empty((n,), "f32"))


def three_launches(x, y, n, BLOCK, num_warps):
    blocks = cdiv(n, BLOCK)
    sums = empty((blocks,), "f32")
    return [
        launch("block_sums", (blocks,), x, sums, n, BLOCK=BLOCK, num_warps=num_warps),
        launch("cumsum_rows", (1 if blocks > 0 else 0,), sums, sums, 0, blocks, BLOCK=4096, num_warps=8),
        launch("add_before", (blocks,), x, sums, y, n, BLOCK=BLOCK, num_warps=num_warps),
    ]


def look_back(x, y, n, BLOCK, num_warps):
    blocks = cdiv(n, BLOCK)
    ticket = empty((1,), "i32")
    state = empty((blocks,), "i64")
    return [
        launch("clear", (1,), ticket, 1, BLOCK=1),
        launch("clear", (cdiv(blocks, 1024),), state, blocks, BLOCK=1024),
        launch("look_back", (blocks,), x, y, ticket, state, n, BLOCK=BLOCK, num_warps=num_warps),
    ]


def histogram_inputs(n, bins, dtype="i32", low=0, high=None):
    return dict(x=randint((n,), low, bins if high == None else high, dtype))


def histogram_outputs(bins):
    return dict(counts=empty((bins,), "i32"))


def private_counts(x, counts, n, bins, BLOCK, PROGRAMS, num_warps):
    return [
        launch("clear", (cdiv(bins, 1024),), counts, bins, BLOCK=1024),
        launch("histogram", (min(PROGRAMS, cdiv(n, BLOCK)),), x, counts, n, bins, BLOCK_BINS=next_power_of_2(bins), BLOCK=BLOCK, num_warps=num_warps),
    ]


def rows_tolerance(N, dtype):
    # N terms of order 1 in f32: sums grow to sqrt(N) and are rounded up to N times, in either direction.
    return dict(rel=eps(dtype) / 2 if dtype != "i32" else 0, abs=(8 + N / 2) * eps("f32"))


configs = [dict(BLOCK=b, num_warps=w) for (b, w) in ((1024, 4), (1024, 2), (2048, 4), (4096, 8), (8192, 8))]
tasks = dict(
    rows=dict(
        inputs=rows_inputs, outputs=rows_outputs, tolerance=rows_tolerance, flops=lambda M, N: M * N,
        variants=dict(blocks=dict(run=each_row, configs=configs)),
        cases=[*[dict(M=m, N=n, dtype="f32") for (m, n) in ((1, 1), (3, 781), (2, 5000))], *[dict(M=3, N=1100, dtype=d) for d in ("i32", "f16", "bf16")],
               dict(label="no rows", M=0, N=10, dtype="f32"), *[dict(M=13, N=300, dtype=d, special="x") for d in ("f32", "f16")]],
        demo=[dict(check=True, M=256, N=4096, dtype="f32")], bench=[dict(M=m, N=n, dtype="f32") for (m, n) in ((16384, 1024), (4096, 16384))],
        peers=dict(torch="torch.cumsum(x, -1)"),
    ),
    vector=dict(
        inputs=vector_inputs, outputs=vector_outputs, flops=lambda n: n,
        tolerance=lambda n: dict(rel=0, abs=(8 + n / 2) * eps("f32")),
        variants=dict(three_launches=dict(run=three_launches, configs=configs), look_back=dict(run=look_back, configs=configs, bytes=lambda x, y: x.nbytes + y.nbytes)),
        cases=[*[dict(n=n, dtype="f32") for n in (1, 1000, 1025, 20000)], dict(n=3000, dtype="bf16"), dict(n=3000, dtype="f32", special="x"), dict(label="empty", n=0, dtype="f32")],
        demo=[dict(n=1 << 20, dtype="f32")], bench=[dict(n=1 << k, dtype="f32") for k in (20, 24, 28)],
        peers=dict(torch="torch.cumsum(x, 0)"),
    ),
    histogram=dict(
        inputs=histogram_inputs, outputs=histogram_outputs, tolerance=lambda: dict(rel=0, abs=0), flops=lambda n: n,
        variants=dict(private_counts=dict(run=private_counts, configs=[dict(BLOCK=b, PROGRAMS=p, num_warps=w) for (b, p, w) in ((1024, 528, 4), (4096, 264, 8), (2048, 1056, 4))])),
        cases=[*[dict(n=n, bins=b) for (n, b) in ((1, 1), (1000, 7), (5000, 256), (3000, 1000))],
               dict(label="numbers outside", n=1000, bins=10, low=-5, high=20), dict(label="empty", n=0, bins=4)],
        demo=[dict(n=1 << 20, bins=256)], bench=[dict(n=1 << k, bins=256) for k in (20, 26)],
        peers=dict(torch="torch.bincount(x, minlength=bins)"),
    ),
)
