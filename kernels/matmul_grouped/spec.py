doc = "Matrix products of groups of rows of uneven sizes, each with a matrix of its own"

PROGRAMS = 132  # an H200's SMs; any count is right


def starts(sizes):
    return values([sum(sizes[:g]) for g in range(len(sizes) + 1)], "i32")


def forward_inputs(sizes, N, K, dtype, transposed=False):
    G = len(sizes)
    # Transposed: [G, N, K], as a linear layer keeps its weights, read as [G, K, N].
    return dict(a=randn((sum(sizes), K), dtype), b=randn((G, K, N), dtype, strides=(K * N, 1, K) if transposed else (K * N, N, 1)),
                offsets=starts(sizes))


def forward_outputs(sizes, N, dtype):
    return dict(c=empty((sum(sizes), N), dtype))


def precision(a):
    return "ieee" if a.dtype == "f32" else "tf32"


def walk(a, b, c, offsets, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    return [launch("grouped_walk", (PROGRAMS,), a, b, c, offsets, b.shape[0], N, K, a.stride(0), *b.strides, c.stride(0),
                   BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, EVEN_K=K % BLOCK_K == 0, PRECISION=precision(a),
                   num_warps=num_warps, num_stages=num_stages)]


def search(a, b, c, offsets, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    T, G = a.shape[0], b.shape[0]
    # Each group can waste less than one tile, and no more groups than rows have any.
    rows = T // BLOCK_M + min(G, T)
    return [launch("grouped_search", (rows, cdiv(N, BLOCK_N)), a, b, c, offsets, G, N, K, a.stride(0), *b.strides, c.stride(0),
                   BLOCK_G=next_power_of_2(G), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, EVEN_K=K % BLOCK_K == 0,
                   PRECISION=precision(a), num_warps=num_warps, num_stages=num_stages)]


def gradient_inputs(sizes, N, K, dtype):
    return dict(a=randn((sum(sizes), K), dtype), dc=randn((sum(sizes), N), dtype), offsets=starts(sizes))


def gradient_outputs(sizes, N, K, dtype):
    return dict(db=empty((len(sizes), K, N), dtype))


def each_tile(a, dc, db, offsets, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    return [launch("grouped_weight_gradient", (cdiv(K, BLOCK_K) * cdiv(N, BLOCK_N), db.shape[0]), a, dc, db, offsets, N, K,
                   a.stride(0), dc.stride(0), BLOCK_K=BLOCK_K, BLOCK_N=BLOCK_N, BLOCK_M=BLOCK_M, PRECISION=precision(a),
                   num_warps=num_warps, num_stages=num_stages)]


def walk_gradient(a, dc, db, offsets, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages, few=None):
    return [launch("grouped_weight_gradient_walk", (PROGRAMS if few == None else few,), a, dc, db, offsets, db.shape[0], N, K,
                   a.stride(0), dc.stride(0), BLOCK_K=BLOCK_K, BLOCK_N=BLOCK_N, BLOCK_M=BLOCK_M, PRECISION=precision(a),
                   num_warps=num_warps, num_stages=num_stages)]


def describable(t):
    # A descriptor needs elements, a last stride of 1 and other strides of a multiple of 16 bytes.
    return t.shape[-1] > 0 and t.shape[-1] * (4 if t.dtype == "f32" else 2) % 16 == 0


def described_gradient(a, dc, db, offsets, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages, few=None):
    if not (describable(a) and describable(dc)):
        return unsupported("a shape that a tensor descriptor can't have")
    return [launch("grouped_weight_gradient_descriptors", (PROGRAMS if few == None else few, db.shape[0]), a, dc, descriptor(db, [1, BLOCK_K, BLOCK_N]), offsets,
                   N, K, a.stride(0), dc.stride(0), BLOCK_K=BLOCK_K, BLOCK_N=BLOCK_N, BLOCK_M=BLOCK_M, PRECISION=precision(a),
                   num_warps=num_warps, num_stages=num_stages)]


def tile(m, n, k, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=warps, num_stages=stages)


tiles = [tile(64, 64, 32, 4, 3), tile(128, 128, 64, 8, 3), tile(128, 256, 64, 8, 3), tile(64, 128, 64, 4, 4), tile(16, 128, 64, 4, 4), tile(128, 128, 64, 4, 3)]
cases = [
    *[dict(label=f"{t}", sizes=[70, 0, 1, 64, 130, 0], N=72, K=40, dtype=t) for t in ("f16", "bf16", "f32")],
    dict(label="one row", sizes=[0, 1], N=1, K=1, dtype="f32"),
    dict(label="even K", sizes=[5, 100], N=64, K=64, dtype="f16"),
    dict(label="no rows", sizes=[0, 0, 0], N=16, K=16, dtype="f32"),
    *[dict(label=f"special {t}", sizes=[9, 0, 20], N=40, K=40, dtype=t, special="a") for t in ("f16", "f32")],
]
demo = [dict(check=True, label="1024 rows in 4 groups", sizes=[300, 20, 500, 204], N=256, K=256, dtype="f32")]
# Eight groups as a router leaves them, and one that all chose; the dense product has as many rows.
# Wide ones once only: their weights are 470 million numbers, which take longer to make than to measure.
bench = [dict(label=f"{what} N={n} {d}", sizes=s, N=n, K=4096, dtype=d)
         for d in ("bf16",)
         for (what, n, s) in (("uneven", 4096, [3000, 120, 2500, 40, 1032, 700, 508, 292]), ("even", 4096, [1024] * 8), ("small", 4096, [20, 3, 0, 41, 16, 8, 30, 10]),
                              ("uneven", 14336, [3000, 120, 2500, 40, 1032, 700, 508, 292]))]


def forward_tolerance(K, dtype):
    return dict(rel=8 * eps("f32") + eps(dtype) / 2, abs=1.2 * K * eps("f32") + 1e-7)


tasks = dict(
    forward=dict(
        inputs=forward_inputs, outputs=forward_outputs, tolerance=forward_tolerance, flops=lambda sizes, N, K: 2 * sum(sizes) * N * K,
        variants=dict(search=dict(run=search, configs=tiles), walk=dict(run=walk, configs=tiles)),
        cases=[*cases, dict(label="transposed weights", sizes=[33, 7, 90], N=40, K=48, dtype="f16", transposed=True)],
        peers=dict(torch="torch.nn.functional.grouped_mm(a, b, offs=offsets[1:])", dense="torch.matmul(a, b[0])"),
    ),
    weight_gradient=dict(
        gradient=dict(of="forward", given=dict(c="dc"), by=dict(db="b")),
        inputs=gradient_inputs, outputs=gradient_outputs, flops=lambda sizes, N, K: 2 * sum(sizes) * N * K,
        tolerance=lambda sizes, dtype: forward_tolerance(max(sizes), dtype),
        variants=dict(tiles=dict(run=each_tile, configs=[tile(32, 64, 64, 4, 3), tile(64, 128, 128, 8, 3), tile(64, 256, 128, 8, 3), tile(64, 128, 128, 4, 3)]),
                      walk=dict(run=walk_gradient, configs=[tile(32, 64, 64, 4, 3), tile(64, 128, 128, 8, 3), tile(64, 256, 128, 8, 3)]),
                      descriptors=dict(run=described_gradient, configs=[tile(32, 64, 64, 4, 3), tile(64, 128, 128, 8, 3), tile(64, 256, 128, 8, 3), tile(64, 128, 128, 4, 3)])),
        # Few programs take several tiles each, of groups of different lengths.
        cases=[*cases, *[dict(label=f"{few} programs", sizes=[70, 0, 1, 200, 0, 130], N=200, K=136, dtype="f16", few=few) for few in (1, 5)]],
        peers=dict(torch="torch.nn.functional.grouped_mm(a.mT, dc, offs=offsets[1:])", dense="torch.matmul(a.mT, dc)"),
    ),
)
