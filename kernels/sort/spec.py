doc = "Rows sorted, and the k largest of rows of any length, with their places"


def sort_inputs(M, N, dtype, descending=False, ties=False, rows=None):
    x = values(rows, dtype) if rows != None else randint((M, N), -5, 5, dtype) if ties else randn((M, N), dtype)
    return dict(x=x, descending=descending)


def sort_outputs(M, N, dtype):
    return dict(y=empty((M, N), dtype), index=empty((M, N), "i32"))


def bitonic(x, y, index, M, N, descending, num_warps):
    if N > 16384:
        return unsupported("a row that a program's registers do not hold")
    return [launch("sort_rows", (M,), x, y, index, x.stride(0), N, DESCENDING=descending, BLOCK=next_power_of_2(N), num_warps=num_warps)]


def top_k_inputs(M, N, K, dtype, ties=False):
    return dict(x=randint((M, N), -5, 5, dtype) if ties else randn((M, N), dtype))


def top_k_outputs(M, K, dtype):
    return dict(y=empty((M, K), dtype), index=empty((M, K), "i32"))


def blocks(x, y, index, M, N, K, BLOCK, num_warps):
    width = max(2, next_power_of_2(K))  # Triton's own `topk` takes no single element
    return [launch("top_k_rows", (M,), x, y, index, x.stride(0), N, K, BLOCK_K=width, BLOCK=max(BLOCK, width), num_warps=num_warps)]


tasks = dict(
    sort=dict(
        inputs=sort_inputs, outputs=sort_outputs, variants=dict(bitonic=dict(run=bitonic, configs=[dict(num_warps=w) for w in (4, 8, 2, 1)])),
        cases=[
            *[dict(M=3, N=n, dtype="f32", descending=d) for n in (1, 17, 300, 512) for d in (False, True)],
            *[dict(M=2, N=100, dtype=t, ties=True) for t in ("f32", "f16", "bf16")],
            dict(M=2, N=100, dtype="f32", ties=True, descending=True),
            dict(label="infinities and a denormal", M=1, N=6, dtype="f32", rows=[[1.0, inf, -inf, 1e-40, -1e-40, -2.0]]),
        ],
        demo=[dict(M=256, N=1024, dtype="f32")], bench=[dict(M=m, N=n, dtype="f32") for (m, n) in ((16384, 128), (8192, 1024), (2048, 4096))],
        peers=dict(torch="torch.sort(x, stable=True)"),
    ),
    top_k=dict(
        inputs=top_k_inputs, outputs=top_k_outputs,
        variants=dict(blocks=dict(run=blocks, configs=[dict(BLOCK=b, num_warps=w) for (b, w) in ((1024, 4), (512, 4), (2048, 8), (256, 2))])),
        cases=[
            *[dict(M=3, N=n, K=k, dtype="f32") for (n, k) in ((1, 1), (40, 5), (700, 8), (1500, 50), (1025, 1))],
            *[dict(M=2, N=300, K=7, dtype=t, ties=True) for t in ("f32", "f16", "bf16")],
        ],
        demo=[dict(M=64, N=32000, K=8, dtype="f32")],
        bench=[dict(M=m, N=n, K=k, dtype="bf16") for (m, n, k) in ((64, 128256, 50), (1024, 32768, 8), (16384, 256, 8))],
        peers=dict(torch="torch.topk(x, K, -1)"),
    ),
)
tolerance = lambda: dict(rel=0, abs=0)
