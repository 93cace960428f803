doc = "A batch of matrix products, C[z] = A[z] @ B[z]"


def inputs(B, M, N, K, dtype, transposed="", shared=False):
    a = (M * K, 1, M) if "a" in transposed else (M * K, K, 1)
    b = (K * N, 1, K) if "b" in transposed else (K * N, N, 1)
    # A shared B is one matrix that every product reads.
    return dict(a=randn((B, M, K), dtype, strides=a), b=randn((B, K, N), dtype, strides=(0 if shared else b[0], b[1], b[2])))


def outputs(B, M, N, dtype):
    return dict(c=empty((B, M, N), dtype))


def precision(a):
    return "ieee" if a.dtype == "f32" else "tf32"


def pointers(a, b, c, B, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, num_warps, num_stages):
    return [launch("matmul_batched", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N), B), a, b, c, M, N, K, *a.strides, *b.strides, *c.strides[:2],
                   BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, EVEN_K=K % BLOCK_K == 0,
                   PRECISION=precision(a), num_warps=num_warps, num_stages=num_stages)]


def have_descriptors(a, b, c):
    # A descriptor needs elements, a last stride of 1 and other strides of a multiple of 16 bytes, none of them 0.
    return all([t.numel() > 0 and t.stride(2) == 1 and t.stride(0) > 0 and t.stride(0) * t.element_size() % 16 == 0
                and t.stride(1) * t.element_size() % 16 == 0 for t in (a, b, c)])


def descriptors(a, b, c, B, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    if not have_descriptors(a, b, c):
        return unsupported("strides that a tensor descriptor can't have")
    return [launch("matmul_batched_descriptors", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N), B), descriptor(a, [1, BLOCK_M, BLOCK_K]),
                   descriptor(b, [1, BLOCK_K, BLOCK_N]), descriptor(c, [1, BLOCK_M, BLOCK_N]), M, N, K,
                   BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, PRECISION=precision(a), num_warps=num_warps, num_stages=num_stages)]


PROGRAMS = 132  # an H200's SMs, each of which holds one program of the large tiles; any count is right


def persistent(a, b, c, B, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    if not have_descriptors(a, b, c):
        return unsupported("strides that a tensor descriptor can't have")
    return [launch("matmul_batched_persistent", (min(PROGRAMS, B * cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)),), descriptor(a, [1, BLOCK_M, BLOCK_K]),
                   descriptor(b, [1, BLOCK_K, BLOCK_N]), descriptor(c, [1, BLOCK_M, BLOCK_N]), B, M, N, K,
                   BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, PRECISION=precision(a), num_warps=num_warps, num_stages=num_stages)]


def tile(m, n, k, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=warps, num_stages=stages)


tiles = [tile(64, 64, 32, 4, 3), tile(128, 128, 64, 8, 3), tile(128, 256, 64, 8, 3), tile(64, 128, 64, 4, 3), tile(32, 64, 64, 4, 4)]
variants = dict(
    pointers=dict(run=pointers, configs=[dict(**t, GROUP_M=8) for t in tiles]),
    descriptors=dict(run=descriptors, configs=tiles),
    # A tile's result lies in shared memory beside the blocks of the next one.
    persistent=dict(run=persistent, configs=[tile(128, 128, 64, 8, 3), tile(128, 128, 64, 4, 3), tile(128, 256, 64, 8, 2), tile(64, 64, 32, 4, 3), tile(256, 128, 64, 8, 2)]),
)
cases = [
    *[dict(B=b, M=m, N=n, K=k, dtype="f16") for (b, m, n, k) in ((1, 1, 1, 1), (3, 64, 64, 64), (2, 70, 40, 100), (5, 17, 33, 8), (2, 129, 72, 48))],
    *[dict(B=2, M=48, N=80, K=64, dtype=d) for d in ("f32", "bf16")],
    *[dict(B=2, M=40, N=72, K=48, dtype="f16", transposed=t) for t in ("a", "b", "ab")],
    dict(label="one B for all", B=4, M=20, N=40, K=32, dtype="f32", shared=True),
    dict(label="no products", B=0, M=16, N=16, K=16, dtype="f32"),
    dict(B=2, M=40, N=72, K=64, dtype="f16", special="a"),
]
demo = [dict(B=8, M=128, N=128, K=128, dtype="f32")]
bench = [dict(B=b, M=n, N=n, K=k, dtype="f16") for (b, n, k) in ((128, 512, 64), (64, 1024, 128), (16, 1024, 1024), (8, 2048, 2048))]


def tolerance(K, dtype):
    # K products of order 1 summed in f32, then one rounding to dtype.
    return dict(rel=8 * eps("f32") + eps(dtype) / 2, abs=1.2 * K * eps("f32") + 1e-7)


flops = lambda B, M, N, K: 2 * B * M * N * K
peers = dict(torch="torch.bmm(a, b)")
