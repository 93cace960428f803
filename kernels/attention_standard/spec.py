doc = "Attention one kernel a step: Q K^T, mask, softmax, dropout, P V"


def inputs(B, H, M, D, dtype, N=None, KV=None, causal=False, bias="none", p=0.0, seed=77):
    N = M if N == None else N
    KV = H if KV == None else KV
    return dict(q=randn((B, H, M, D), dtype), k=randn((B, KV, N, D), dtype), v=randn((B, KV, N, D), dtype),
                bias=randn((B, H, M, N), dtype, strides=(0, 0, N, 1)) if bias == "shared" else None,
                scale=1 / sqrt(D), p=p, seed=seed, causal=causal)


def outputs(B, H, M, D, dtype):
    return dict(out=empty((B, H, M, D), dtype), lse=empty((B, H, M), "f32"))


def standard(q, k, v, bias, out, lse, scale, p, seed, causal, BLOCK_M, BLOCK_N):
    B, H, M, D = q.shape
    KV, N = k.shape[1], k.shape[2]
    group = H // KV
    s = empty((B, H, M, N), "f32")
    weights = empty((B, H, M, N), q.dtype)
    bias_strides = (0, 0, 0) if bias == None else (bias.stride(0), bias.stride(1), bias.stride(2))
    masked = causal or bias != None
    tiles = dict(D=D, BLOCK_D=max(next_power_of_2(D), 16), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, PRECISION="ieee" if q.dtype == "f32" else "tf32")
    return [
        launch("scores", (cdiv(M, BLOCK_M), cdiv(N, BLOCK_N), B * H), q, k, s, H, group, M, N, scale, **tiles),
        *([launch("apply_mask", (M, cdiv(N, 1024), B * H), s, bias, H, M, N, *bias_strides, BLOCK=1024, CAUSAL=causal)] if masked else []),
        launch("softmax", (B * H * M,), s, weights, lse, N, BLOCK=next_power_of_2(N), num_warps=4 if N <= 2048 else 8),
        *([launch("dropout", (cdiv(B * H * M * N, 1024),), weights, B * H * M * N, p, seed, BLOCK=1024)] if p > 0 else []),
        launch("weighted_values", (cdiv(M, BLOCK_M), B * H), weights, v, out, H, group, M, N, **tiles),
    ]


def standard_bytes(q, k, v, out, causal, p, bias):
    # Each step reads and writes its matrix; mask and dropout do both in place.
    pairs = q.numel() // q.shape[3] * k.shape[2]
    size = q.element_size()
    masking = 2 * 4 if causal or bias != None else 0
    dropping = 2 * size if p > 0 else 0
    return q.nbytes + k.nbytes + v.nbytes + out.nbytes + pairs * (4 + masking + 4 + size + dropping + size)


# The same steps by PyTorch, and its fused attention.
plain_case = "bias is None and p == 0 and q.shape[1] == k.shape[1] else unsupported('a bias, dropout or grouped heads')"
hidden = "(s := q @ k.transpose(-1, -2) * scale, s.masked_fill_(torch.ones_like(s[0, 0], dtype=torch.bool).triu_(1 + s.shape[-1] - s.shape[-2]), -math.inf) if causal else s)[1]"
peers = dict(torch=f"torch.softmax({hidden}, -1) @ v if {plain_case}",
             sdpa=f"F.scaled_dot_product_attention(q, k, v, is_causal=causal) if q.shape[2] == k.shape[2] and {plain_case}")
variants = dict(standard=dict(run=standard, bytes=standard_bytes,
                              configs=[dict(BLOCK_M=m, BLOCK_N=n) for (m, n) in ((64, 64), (32, 32), (128, 64))]))

cases = [
    *[dict(B=1, H=2, M=n, D=32, dtype="f32", causal=c) for n in (1, 63, 130) for c in (False, True)],
    *[dict(B=1, H=2, M=70, D=d, dtype="f16") for d in (16, 40, 64, 128)],
    dict(B=1, H=2, M=70, D=64, dtype="bf16"),
    *[dict(B=1, H=2, M=m, N=n, D=32, dtype="f32", causal=True) for (m, n) in ((50, 130), (130, 50))],
    dict(B=2, H=2, M=75, D=32, dtype="f32", bias="shared"),
    *[dict(B=1, H=2, M=70, D=32, dtype="f32", p=p, causal=True) for p in (0.125, 0.5)],
    dict(B=2, H=4, KV=2, M=70, D=32, dtype="f32", causal=True),
    *[dict(B=1, H=2, M=70, D=32, dtype="f32", causal=True, special=s) for s in ("q", "k", "v")],
]
# The bindings of flash_attention's demo and bench, so that rows can be set side by side.
demo = [dict(check=True, B=1, H=4, M=1024, D=64, dtype="f32", causal=c) for c in (False, True)]
bench = [dict(B=4, H=32, M=n, D=d, dtype="f16", causal=c) for d in (64, 128) for c in (False, True) for n in (1024, 4096)]


def tolerance(dtype):
    # See flash_attention: weights are rounded to the inputs' dtype before they meet V.
    unit = 16 * eps("f32")
    return dict(out=dict(rel=eps(dtype), abs=2 * eps(dtype) + 8 * unit), lse=dict(rel=unit, abs=8 * unit))


def flops(q, k, causal):
    # Useful operations, as for flash attention: pairs that are not visible do not count.
    M, N = q.shape[2], k.shape[2]
    pairs = M * N
    if causal:
        pairs = M * (N - M) + M * (M + 1) // 2 if M <= N else N * (N + 1) // 2
    return 4 * q.shape[0] * q.shape[1] * q.shape[3] * pairs
