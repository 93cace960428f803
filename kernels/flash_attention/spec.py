doc = "Attention in memory linear in the sequence: causal or full, additive bias, dropout by seed, grouped heads"


def make_bias(kind, B, H, M, N, dtype):
    if kind == "full":
        return randn((B, H, M, N), dtype)
    if kind == "shared":
        return randn((B, H, M, N), dtype, strides=(0, 0, N, 1))
    if kind == "padding":
        # Hides the second half of the keys from every query.
        return values([[[[0.0] * (N // 2) + [-inf] * (N - N // 2)] * M] * H] * B, dtype)
    return None


def forward_inputs(B, H, M, D, dtype, N=None, KV=None, causal=False, bias="none", p=0.0, seed=77, packed=False):
    N = M if N == None else N
    KV = H if KV == None else KV
    # `packed` is [batch, sequence, head, D] in memory, as a projection leaves it.
    place = lambda heads, n: dict(strides=(n * heads * D, D, heads * D, 1)) if packed else dict()
    return dict(q=randn((B, H, M, D), dtype, **place(H, M)), k=randn((B, KV, N, D), dtype, **place(KV, N)),
                v=randn((B, KV, N, D), dtype, **place(KV, N)), bias=make_bias(bias, B, H, M, N, dtype),
                scale=1 / sqrt(D), p=p, seed=seed, causal=causal)


def forward_outputs(q, dtype):
    B, H, M, D = q.shape
    return dict(out=empty((B, H, M, D), dtype, strides=q.strides), lse=empty((B, H, M), "f32"))


def bias_strides(bias):
    return (0, 0, 0) if bias == None else (bias.stride(0), bias.stride(1), bias.stride(2))


def block_d(D):
    return max(next_power_of_2(D), 16)


def precision(q):
    return "ieee" if q.dtype == "f32" else "tf32"


def flash(q, k, v, bias, out, lse, scale, p, seed, causal, BLOCK_M, BLOCK_N, num_warps, num_stages):
    B, H, M, D = q.shape
    KV, N = k.shape[1], k.shape[2]
    return [launch("flash_forward", (cdiv(M, BLOCK_M), B * H), q, k, v, bias, out, lse,
                   *q.strides[:3], *k.strides[:3], *v.strides[:3], *bias_strides(bias), *out.strides[:3],
                   H, H // KV, M, N, scale, p, seed, D=D, BLOCK_D=block_d(D), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N,
                   CAUSAL=causal, DROPOUT=p > 0, PRECISION=precision(q), num_warps=num_warps, num_stages=num_stages)]


def backward_inputs(B, H, M, D, dtype, N=None, KV=None, causal=False, bias="none", p=0.0, seed=77):
    return dict(**forward_inputs(B, H, M, D, dtype, N, KV, causal, bias, p, seed), do=randn((B, H, M, D), dtype),
                out=computed((B, H, M, D), dtype), lse=computed((B, H, M), "f32"))


def backward_outputs(q, k, dtype):
    return dict(dq=empty(q.shape, dtype), dk=empty(k.shape, dtype), dv=empty(k.shape, dtype))


def flash_backward(q, k, v, bias, do, out, lse, dq, dk, dv, scale, p, seed, causal, BLOCK_M, BLOCK_N, num_warps, num_stages):
    B, H, M, D = q.shape
    KV, N = k.shape[1], k.shape[2]
    delta = empty((B, H, M), "f32")
    shared = dict(D=D, BLOCK_D=block_d(D), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, CAUSAL=causal, DROPOUT=p > 0,
                  PRECISION=precision(q), num_warps=num_warps, num_stages=num_stages)
    return [
        launch("backward.py:row_delta", (cdiv(B * H * M, 64),), out, do, delta, B * H * M, D=D, BLOCK_D=block_d(D), BLOCK_M=64),
        launch("backward.py:backward_dk_dv", (cdiv(N, BLOCK_N), B * KV), q, k, v, bias, do, lse, delta, dk, dv,
               *bias_strides(bias), H, H // KV, M, N, scale, p, seed, **shared),
        launch("backward.py:backward_dq", (cdiv(M, BLOCK_M), B * H), q, k, v, bias, do, lse, delta, dq,
               *bias_strides(bias), H, H // KV, M, N, scale, p, seed, **shared),
    ]


def visible(M, N, causal):
    """Pairs of a query and a key that it sees."""
    if not causal:
        return M * N
    return M * (N - M) + M * (M + 1) // 2 if M <= N else N * (N + 1) // 2


def forward_tolerance(k, dtype):
    # Scores are off by a few units of their size (about 4, over log2(e) and the scale), which is a
    # relative error of the weights; the weights are rounded to the inputs' dtype before they meet V;
    # the result, a mean of values of order 1, is rounded to dtype. lse is of order log N.
    unit = 16 * eps("f32")
    return dict(out=dict(rel=eps(dtype), abs=2 * eps(dtype) + 8 * unit), lse=dict(rel=unit, abs=8 * unit))


def backward_tolerance(q, k, dtype, p):
    # As above, with dS rounded to dtype too, and sums over M queries (times the group) or N keys of
    # terms whose signs differ.
    M, N, group = q.shape[2], k.shape[2], q.shape[1] // k.shape[1]
    grow = sqrt(max(M * group, N)) / 4 + 1
    return dict(rel=2 * eps(dtype), abs=4 * grow * (eps(dtype) + 16 * eps("f32")) / (1 - p))


def tile(m, n, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, num_warps=warps, num_stages=stages)


tasks = dict(
    forward=dict(
        inputs=forward_inputs, outputs=forward_outputs, tolerance=forward_tolerance,
        variants=dict(flash=dict(run=flash, configs=[tile(64, 32, 4, 3), tile(64, 64, 4, 3), tile(128, 64, 4, 3), tile(128, 64, 8, 3),
                                                     tile(128, 128, 8, 2), tile(32, 32, 4, 2), tile(16, 64, 4, 2)])),
        cases=[
            *[dict(B=1, H=2, M=n, D=32, dtype="f32", causal=c) for n in (1, 63, 128, 200) for c in (False, True)],
            *[dict(B=1, H=1, M=70, D=d, dtype="f16", causal=True) for d in (16, 40, 64, 80, 96, 128)],
            *[dict(B=2, H=2, M=100, D=64, dtype=t) for t in ("f32", "f16", "bf16")],
            # Queries at the end of a longer sequence, and more queries than keys: some see nothing.
            *[dict(B=1, H=2, M=m, N=n, D=32, dtype="f32", causal=True) for (m, n) in ((50, 130), (130, 50), (1, 77))],
            *[dict(B=2, H=2, M=75, D=32, dtype="f32", bias=b, causal=c) for b in ("full", "shared", "padding") for c in (False, True)],
            *[dict(B=1, H=2, M=70, D=32, dtype="f32", p=p, causal=c) for p in (0.125, 0.5) for c in (False, True)],
            *[dict(B=2, H=h, KV=kv, M=70, D=32, dtype="f32", causal=True) for (h, kv) in ((4, 2), (4, 1), (6, 3))],
            dict(B=2, H=4, KV=2, M=70, D=32, dtype="f32", packed=True),
            dict(B=1, H=4, KV=2, M=90, D=64, dtype="f16", causal=True, bias="full", p=0.25),
        ],
        flops=lambda q, k, causal: 4 * q.shape[0] * q.shape[1] * q.shape[3] * visible(q.shape[2], k.shape[2], causal),
        peers=dict(torch="torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)"),
    ),
    backward=dict(
        prepare="forward", inputs=backward_inputs, outputs=backward_outputs, tolerance=backward_tolerance,
        variants=dict(flash=dict(run=flash_backward, configs=[tile(32, 32, 4, 2), tile(64, 64, 4, 2), tile(64, 64, 8, 2),
                                                              tile(64, 128, 8, 2), tile(128, 64, 8, 2)])),
        cases=[
            *[dict(B=1, H=2, M=n, D=32, dtype="f32", causal=c) for n in (1, 63, 130) for c in (False, True)],
            *[dict(B=1, H=1, M=70, D=d, dtype="f16", causal=True) for d in (16, 40, 64, 128)],
            *[dict(B=1, H=2, M=70, D=64, dtype=t) for t in ("f32", "bf16")],
            *[dict(B=1, H=2, M=m, N=n, D=32, dtype="f32", causal=True) for (m, n) in ((50, 130), (130, 50), (1, 77))],
            *[dict(B=2, H=2, M=75, D=32, dtype="f32", bias=b, causal=c) for b in ("full", "shared", "padding") for c in (False, True)],
            *[dict(B=1, H=2, M=70, D=32, dtype="f32", p=p, causal=c) for p in (0.125, 0.5) for c in (False, True)],
            *[dict(B=2, H=h, KV=kv, M=70, D=32, dtype="f32", causal=True) for (h, kv) in ((4, 2), (4, 1), (6, 3))],
            dict(B=1, H=4, KV=2, M=90, D=64, dtype="f16", causal=True, bias="full", p=0.25),
        ],
        # Five products where the forward pass has two.
        flops=lambda q, k, causal: 10 * q.shape[0] * q.shape[1] * q.shape[3] * visible(q.shape[2], k.shape[2], causal),
    ),
)
demo = [dict(check=True, B=1, H=4, M=1024, D=64, dtype="f32", causal=c) for c in (False, True)]
bench = [dict(B=4, H=32, M=n, D=d, dtype="f16", causal=c) for d in (64, 128) for c in (False, True) for n in (1024, 4096, 16384)]
