doc = "C = A @ B over tensor descriptors that the kernel makes"


def tile(m, n, k, warps, stages, **more):
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=warps, num_stages=stages, **more)


def inputs(M, N, K, dtype):
    return dict(a=randn((M, K), dtype), b=randn((K, N), dtype))


def outputs(M, N, dtype):
    return dict(c=empty((M, N), dtype))


def persistent(a, b, c, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, FLATTEN, HALVES, PROGRAMS, num_warps, num_stages):
    programs = min(PROGRAMS, cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N))
    return [launch("persistent", (programs,), a, b, c, M, N, K, PROGRAMS=programs, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
                   FLATTEN=FLATTEN, HALVES=HALVES, num_warps=num_warps, num_stages=num_stages)]


def remade(a, b, c, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    return [launch("remade", (cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)), a, b, c, M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
                   num_warps=num_warps, num_stages=num_stages)]


def batch_inputs(G, M, N, K, dtype):
    return dict(a=randn((G, M, K), dtype), b=randn((G, K, N), dtype))


def batch_outputs(G, M, N, dtype):
    return dict(c=empty((G, M, N), dtype))


def batched(a, b, c, G, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, PROGRAMS, num_warps, num_stages):
    programs = min(PROGRAMS, cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N))
    return [launch("batched", (programs,), a, b, c, G, M, N, K, PROGRAMS=programs, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
                   num_warps=num_warps, num_stages=num_stages)]


flops = lambda M, N, K: 2 * M * N * K
# K products of order 1 are summed in f32, then rounded to dtype.
tolerance = lambda K, dtype: dict(rel=8 * eps("f32") + eps(dtype) / 2, abs=1.2 * K * eps("f32") + 1e-7)

tasks = dict(
    product=dict(
        # The first has several tiles a program and edges, the second one fewer steps than are started ahead.
        cases=[dict(M=300, N=328, K=136, dtype="f16"), dict(M=256, N=256, K=32, dtype="bf16"), dict(M=72, N=64, K=200, dtype="f16")],
        bench=[dict(M=n, N=n, K=n, dtype="f16") for n in (1024, 2048, 4096, 8192)],
        variants=dict(
            persistent=dict(run=persistent, configs=[
                tile(128, 128, 64, 8, 3, FLATTEN=flatten, HALVES=halves, PROGRAMS=programs)
                for programs in (3, 132) for flatten in (True, False) for halves in (True, False)
            ] + [tile(128, 256, 64, 8, stages, FLATTEN=True, HALVES=halves, PROGRAMS=132) for (stages, halves) in ((3, False), (3, True), (4, True))]),
            remade=dict(run=remade, configs=[tile(128, 128, 64, 8, 3)]),
        ),
    ),
    batch=dict(
        inputs=batch_inputs, outputs=batch_outputs,
        cases=[dict(G=3, M=136, N=200, K=136, dtype="f16")],
        bench=[dict(G=8, M=2048, N=2048, K=2048, dtype="f16")],
        flops=lambda G, M, N, K: 2 * G * M * N * K,
        variants=dict(batched=dict(run=batched, configs=[tile(64, 128, 64, 4, 3, PROGRAMS=2), tile(128, 128, 64, 8, 3, PROGRAMS=132)])),
    ),
)
