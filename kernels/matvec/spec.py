doc = "Matrix times vector, y = W x + bias; also with int8 weights and a scale a row"


def plain_inputs(N, K, dtype, bias=False, padding=0):
    return dict(w=randn((N, K), dtype, strides=(K + padding, 1)), x=randn((K,), dtype), scale=None, bias=randn((N,), dtype) if bias else None)


def int8_inputs(N, K, dtype, bias=False, padding=0):
    return dict(w=randint((N, K), -127, 128, "i8", strides=(K + padding, 1)), x=randn((K,), dtype),
                scale=rand((N,), "f32", low=0.5 / 127, high=1.5 / 127), bias=randn((N,), dtype) if bias else None)


def outputs(N, dtype):
    return dict(y=empty((N,), dtype))


def rows(w, x, scale, bias, y, N, K, BLOCK_N, BLOCK_K, num_warps):
    return [launch("matvec_rows", (cdiv(N, BLOCK_N),), w, x, scale, bias, y, N, K, w.stride(0),
                   BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, EVEN_K=K % BLOCK_K == 0, num_warps=num_warps)]


def split_k(w, x, scale, bias, y, N, K, BLOCK_N, BLOCK_K, SPLITS, num_warps):
    depth = max(cdiv(cdiv(K, SPLITS), BLOCK_K), 1) * BLOCK_K
    splits = cdiv(K, depth)
    part = empty((splits, N), "f32")
    return [
        launch("matvec_split_k", (cdiv(N, BLOCK_N), splits), w, x, part, N, K, w.stride(0), depth,
               BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, num_warps=num_warps),
        launch("join_splits", (cdiv(N, 256),), part, scale, bias, y, N, splits, BLOCK=256),
    ]


def tolerance(K, dtype):
    # K products of order 1 summed in f32, as short loops and a tree; then one rounding to dtype.
    return dict(rel=eps(dtype) / 2 + 8 * eps("f32"), abs=(8 + K / 4) * eps("f32"))


variants = dict(
    rows=dict(run=rows, configs=[dict(BLOCK_N=n, BLOCK_K=k, num_warps=w) for (n, k, w) in ((4, 512, 4), (8, 512, 4), (2, 1024, 4), (16, 256, 4), (1, 2048, 4), (8, 1024, 8), (1, 64, 4))]),
    split_k=dict(run=split_k, configs=[dict(BLOCK_N=n, BLOCK_K=512, SPLITS=s, num_warps=4) for n in (4, 8) for s in (4, 8, 2)]),
)
shapes = [
    *[dict(N=n, K=k, dtype="f32") for (n, k) in ((1, 1), (3, 17), (130, 781), (64, 2048), (9, 5000))],
    *[dict(N=70, K=600, dtype=d, bias=True) for d in ("f16", "bf16", "f32")],
    dict(label="padded rows", N=20, K=100, dtype="f32", padding=28),
    dict(label="no rows", N=0, K=100, dtype="f32"),
    dict(label="no columns", N=20, K=0, dtype="f32", bias=True),
    *[dict(N=20, K=100, dtype=d, special="x") for d in ("f32", "f16")],
]
flops = lambda N, K: 2 * N * K
tasks = dict(
    plain=dict(inputs=plain_inputs, outputs=outputs, tolerance=tolerance, variants=variants, cases=shapes, peers=dict(torch="torch.mv(w, x)")),
    int8_weights=dict(inputs=int8_inputs, outputs=outputs, tolerance=tolerance, variants=variants, cases=shapes,
                      peers=dict(torch="torch.mv(w.to(x.dtype), x) * scale")),
)
demo = [dict(check=True, N=4096, K=4096, dtype="f32")]
bench = [dict(N=n, K=k, dtype="f16") for (n, k) in ((4096, 4096), (14336, 4096), (4096, 14336), (128256, 4096), (1024, 16384))]
