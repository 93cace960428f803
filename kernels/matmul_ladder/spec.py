doc = "The ladder of a matrix product: a naive kernel and what each idea adds, up to a tuned one"


def inputs(M, N, K):
    return dict(a=randn((M, K), "f16"), b=randn((K, N), "f16"))


def outputs(M, N):
    return dict(c=empty((M, N), "f16"))


def naive(a, b, c, M, N, K):
    if M * N * K > 1 << 35:
        return unsupported("it would take seconds")
    return [launch("element", (M, N), a, b, c, M, N, K, BLOCK_K=256, num_warps=1)]


def grid(M, N, BLOCK_M, BLOCK_N):
    return (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),)


def tiled(a, b, c, M, N, K):
    return [launch("tiled", grid(M, N, 64, 64), a, b, c, M, N, K, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP_M=1, num_warps=4, num_stages=1)]


def grouped_order(a, b, c, M, N, K):
    return [launch("tiled", grid(M, N, 64, 64), a, b, c, M, N, K, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP_M=8, num_warps=4, num_stages=1)]


def wide(a, b, c, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    # The hints hold where rows of B start at multiples of 16 bytes.
    even = K % BLOCK_K == 0 and N % 8 == 0
    return [launch("vectorised", grid(M, N, BLOCK_M, BLOCK_N), a, b, c, M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=8,
                   EVEN_K=even, num_warps=num_warps, num_stages=num_stages)]


def vectorised(a, b, c, M, N, K):
    return wide(a, b, c, M, N, K, 128, 128, 64, 8, 1)


def pipelined(a, b, c, M, N, K):
    return wide(a, b, c, M, N, K, 128, 128, 64, 8, 3)


def tuned(a, b, c, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    if N % 8 != 0 or K % 8 != 0:
        return unsupported("rows that a tensor descriptor can't have")
    return [launch("bulk", grid(M, N, BLOCK_M, BLOCK_N), descriptor(a, [BLOCK_M, BLOCK_K]), descriptor(b, [BLOCK_K, BLOCK_N]),
                   descriptor(c, [BLOCK_M, BLOCK_N]), M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=8,
                   num_warps=num_warps, num_stages=num_stages)]


def tile(m, n, k, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=warps, num_stages=stages)


variants = dict(
    naive=naive, tiled=tiled, grouped_order=grouped_order, vectorised=vectorised, pipelined=pipelined,
    tuned=dict(run=tuned, configs=[tile(128, 256, 64, 8, 3), tile(128, 128, 64, 8, 4), tile(128, 128, 64, 4, 4), tile(64, 256, 64, 4, 4), tile(128, 256, 64, 8, 4)]),
)
cases = [dict(M=m, N=n, K=k) for (m, n, k) in ((1, 1, 1), (40, 72, 64), (65, 33, 100), (130, 136, 64))]
demo = [dict(check=True, M=128, N=128, K=128)]
bench = [dict(M=n, N=n, K=n) for n in (1024, 2048, 4096, 8192)]


def tolerance(K):
    # K products of order 1 summed in f32, then one rounding to f16.
    return dict(rel=8 * eps("f32") + eps("f16") / 2, abs=1.2 * K * eps("f32") + 1e-7)


flops = lambda M, N, K: 2 * M * N * K
peers = dict(torch="torch.matmul(a, b)")
