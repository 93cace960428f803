doc = "Attention in memory linear in the sequence: causal or full, window, ALiBi, soft cap, bias, dropout by seed, grouped heads, any lengths"


def make_bias(kind, B, H, M, N, dtype):
    if kind == "full":
        return randn((B, H, M, N), dtype)
    if kind == "shared":
        return randn((B, H, M, N), dtype, strides=(0, 0, N, 1))
    if kind == "padding":
        # Hides the second half of the keys from every query.
        return values([[[[0.0] * (N // 2) + [-inf] * (N - N // 2)] * M] * H] * B, dtype)
    return None


def forward_inputs(B, H, M, D, dtype, N=None, KV=None, causal=False, bias="none", p=0.0, seed=77, packed=False,
                   window=0, soft_cap=0.0, alibi=False, descale=False):
    N = M if N == None else N
    KV = H if KV == None else KV
    # `packed` is [batch, sequence, head, D] in memory, as a projection leaves it.
    place = lambda heads, n: dict(strides=(n * heads * D, D, heads * D, 1)) if packed else dict()
    return dict(q=randn((B, H, M, D), dtype, **place(H, M)), k=randn((B, KV, N, D), dtype, **place(KV, N)),
                v=randn((B, KV, N, D), dtype, **place(KV, N)), bias=make_bias(bias, B, H, M, N, dtype),
                scale=1 / sqrt(D), p=p, seed=seed, causal=causal, window=window, soft_cap=soft_cap,
                slopes=values([2.0 ** (-8 * (h + 1) / H) for h in range(H)], "f32") if alibi else None,
                descale=rand((B, KV, 3), "f32", low=0.5, high=1.5) if descale else None)


def forward_outputs(q, dtype):
    B, H, M, D = q.shape
    return dict(out=empty((B, H, M, D), "f16" if sizeof(dtype) == 1 else dtype, strides=q.strides), lse=empty((B, H, M), "f32"))


def bias_strides(bias):
    return (0, 0, 0) if bias == None else (bias.stride(0), bias.stride(1), bias.stride(2))


def block_d(D):
    return max(next_power_of_2(D), 16)


def precision(q):
    return "ieee" if q.dtype == "f32" else "tf32"


def flash(q, k, v, bias, slopes, descale, out, lse, scale, p, seed, causal, window, soft_cap, BLOCK_M, BLOCK_N, num_warps, num_stages):
    B, H, M, D = q.shape
    KV, N = k.shape[1], k.shape[2]
    return [launch("flash_forward", (cdiv(M, BLOCK_M), B * H), q, k, v, bias, out, lse,
                   *q.strides[:3], *k.strides[:3], *v.strides[:3], *bias_strides(bias), *out.strides[:3],
                   H, H // KV, M, N, scale, p, seed, D=D, BLOCK_D=block_d(D), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N,
                   CAUSAL=causal, DROPOUT=p > 0, PRECISION=precision(q), slopes_ptr=slopes, descale_ptr=descale,
                   WINDOW=window, SOFT_CAP=soft_cap, num_warps=num_warps, num_stages=num_stages)]


def flash_descriptors(q, k, v, bias, slopes, descale, out, lse, scale, p, causal, window, soft_cap, BLOCK_M, BLOCK_N, num_warps, num_stages):
    if bias != None or p > 0:
        return unsupported("a bias or dropout")
    if any([t.numel() == 0 or s * t.element_size() % 16 != 0 for t in (q, k, v, out) for s in t.strides[:3]]):
        return unsupported("a shape or strides that a tensor descriptor can't have")
    B, H, M, D = q.shape
    KV, N = k.shape[1], k.shape[2]
    queries = [1, 1, BLOCK_M, block_d(D)]
    keys = [1, 1, BLOCK_N, block_d(D)]
    return [launch("descriptors.py:flash_forward_descriptors", (cdiv(M, BLOCK_M), H, B),
                   descriptor(q, queries), descriptor(k, keys), descriptor(v, keys), descriptor(out, queries), lse, H // KV, M, N, scale,
                   D=D, BLOCK_D=block_d(D), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, CAUSAL=causal, PRECISION=precision(q),
                   slopes_ptr=slopes, descale_ptr=descale, WINDOW=window, SOFT_CAP=soft_cap, num_warps=num_warps, num_stages=num_stages)]


def backward_inputs(B, H, M, D, dtype, N=None, KV=None, causal=False, bias="none", p=0.0, seed=77, window=0, soft_cap=0.0, alibi=False):
    return dict(**forward_inputs(B, H, M, D, dtype, N, KV, causal, bias, p, seed, False, window, soft_cap, alibi), do=randn((B, H, M, D), dtype),
                out=computed((B, H, M, D), dtype), lse=computed((B, H, M), "f32"))


def backward_outputs(q, k, dtype):
    return dict(dq=empty(q.shape, dtype), dk=empty(k.shape, dtype), dv=empty(k.shape, dtype))


def flash_backward(q, k, v, bias, slopes, do, out, lse, dq, dk, dv, scale, p, seed, causal, window, soft_cap,
                   BLOCK_M, BLOCK_N, num_warps, num_stages):
    B, H, M, D = q.shape
    KV, N = k.shape[1], k.shape[2]
    delta = empty((B, H, M), "f32")
    shared = dict(D=D, BLOCK_D=block_d(D), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, CAUSAL=causal, DROPOUT=p > 0,
                  PRECISION=precision(q), slopes_ptr=slopes, WINDOW=window, SOFT_CAP=soft_cap, num_warps=num_warps, num_stages=num_stages)
    return [
        launch("backward.py:row_delta", (cdiv(B * H * M, 64),), out, do, delta, B * H * M, D=D, BLOCK_D=block_d(D), BLOCK_M=64),
        launch("backward.py:backward_dk_dv", (cdiv(N, BLOCK_N), B * KV), q, k, v, bias, do, lse, delta, dk, dv,
               *bias_strides(bias), H, H // KV, M, N, scale, p, seed, **shared),
        launch("backward.py:backward_dq", (cdiv(M, BLOCK_M), B * H), q, k, v, bias, do, lse, delta, dq,
               *bias_strides(bias), H, H // KV, M, N, scale, p, seed, **shared),
    ]


def flash_one_pass(q, k, v, bias, slopes, do, out, lse, dq, dk, dv, scale, p, causal, window, soft_cap, BLOCK_M, BLOCK_N, num_warps, num_stages):
    if bias != None or p > 0:
        return unsupported("a bias or dropout")
    B, H, M, D = q.shape
    KV, N = k.shape[1], k.shape[2]
    if D * q.element_size() % 16 != 0 or q.numel() * k.numel() == 0:
        return unsupported("a shape that a tensor descriptor can't have")
    padded = cdiv(M, BLOCK_M) * BLOCK_M
    delta = empty((B * H, padded), "f32")
    log2_lse = empty((B * H, padded), "f32")
    dq_sum = empty(q.shape, "f32")
    queries = [1, 1, BLOCK_M, block_d(D)]
    keys = [1, 1, BLOCK_N, block_d(D)]
    return [
        launch("one_pass.py:row_facts", (cdiv(padded, 64), B * H), out, do, lse, delta, log2_lse, dq_sum, M, padded, D=D, BLOCK_D=block_d(D), BLOCK_M=64),
        launch("one_pass.py:backward_one_pass", (cdiv(N, BLOCK_N), KV, B),
               descriptor(q, queries), descriptor(k, keys), descriptor(v, keys), descriptor(do, queries),
               descriptor(log2_lse, [1, BLOCK_M]), descriptor(delta, [1, BLOCK_M]), descriptor(dq_sum, queries),
               descriptor(dk, keys), descriptor(dv, keys), slopes,
               H // KV, M, N, scale, BLOCK_D=block_d(D), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, CAUSAL=causal, PRECISION=precision(q),
               WINDOW=window, SOFT_CAP=soft_cap, num_warps=num_warps, num_stages=num_stages),
        launch("one_pass.py:round_sums", (cdiv(B * H * M * D, 4096),), dq_sum, dq, B * H * M * D, scale, BLOCK=4096),
    ]


def starts(lengths):
    return values([sum(lengths[:b]) for b in range(len(lengths) + 1)], "i32")


def lengths_inputs(queries, keys, H, D, dtype, KV=None, causal=True, window=0):
    KV = H if KV == None else KV
    return dict(q=randn((sum(queries), H, D), dtype), k=randn((sum(keys), KV, D), dtype), v=randn((sum(keys), KV, D), dtype),
                cu_q=starts(queries), cu_k=starts(keys), scale=1 / sqrt(D), causal=causal, window=window)


def lengths_outputs(q, dtype):
    return dict(out=empty(q.shape, dtype), lse=empty(q.shape[:2], "f32"))


def flash_lengths(q, k, v, cu_q, cu_k, out, lse, scale, causal, window, queries, BLOCK_M, BLOCK_N, num_warps, num_stages):
    T, H, D = q.shape
    KV = k.shape[1]
    # The grid is for the longest sequence; programs past the end of a shorter one leave at once.
    return [launch("flash_forward", (cdiv(max(queries), BLOCK_M), len(queries) * H), q, k, v, None, out, lse,
                   0, D, H * D, 0, D, KV * D, 0, D, KV * D, 0, 0, 0, 0, D, H * D, H, H // KV, 0, 0, scale, 0.0, 0,
                   D=D, BLOCK_D=block_d(D), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, CAUSAL=causal, DROPOUT=False, PRECISION=precision(q),
                   cu_q_ptr=cu_q, cu_k_ptr=cu_k, WINDOW=window, num_warps=num_warps, num_stages=num_stages)]


def lengths_backward_inputs(queries, keys, H, D, dtype, KV=None, causal=True, window=0):
    T = sum(queries)
    return dict(**lengths_inputs(queries, keys, H, D, dtype, KV, causal, window), do=randn((T, H, D), dtype),
                out=computed((T, H, D), dtype), lse=computed((T, H), "f32"))


def flash_lengths_backward(q, k, v, do, cu_q, cu_k, out, lse, dq, dk, dv, scale, causal, window, queries, keys,
                           BLOCK_M, BLOCK_N, num_warps, num_stages):
    T, H, D = q.shape
    KV, B = k.shape[1], len(queries)
    delta = empty((T, H), "f32")
    shared = dict(D=D, BLOCK_D=block_d(D), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, CAUSAL=causal, DROPOUT=False, PRECISION=precision(q),
                  cu_q_ptr=cu_q, cu_k_ptr=cu_k, WINDOW=window, num_warps=num_warps, num_stages=num_stages)
    return [
        launch("backward.py:row_delta", (cdiv(T * H, 64),), out, do, delta, T * H, D=D, BLOCK_D=block_d(D), BLOCK_M=64),
        launch("backward.py:backward_dk_dv", (cdiv(max(keys), BLOCK_N), B * KV), q, k, v, None, do, lse, delta, dk, dv,
               0, 0, 0, H, H // KV, 0, 0, scale, 0.0, 0, **shared),
        launch("backward.py:backward_dq", (cdiv(max(queries), BLOCK_M), B * H), q, k, v, None, do, lse, delta, dq,
               0, 0, 0, H, H // KV, 0, 0, scale, 0.0, 0, **shared),
    ]


def visible(M, N, causal, window):
    """Pairs of a query and a key that it sees."""
    if window > 0:
        return sum([max(min(N, i + N - M + (1 if causal else window)) - max(i + N - M - window + 1, 0), 0) for i in range(M)])
    if not causal:
        return M * N
    return M * (N - M) + M * (M + 1) // 2 if M <= N else N * (N + 1) // 2


def forward_tolerance(k, dtype, soft_cap=0, descale=None):
    # Scores are off by a few units of their size (about 4, over log2(e) and the scale), which is a
    # relative error of the weights; the weights are rounded to the inputs' dtype before they meet V;
    # the result, a mean of values of order 1, is rounded to dtype. lse is of order log N.
    # A soft cap's 1 - 2 / (1 + t) is off by units of 1, which the cap multiplies. In fp8 the weights
    # of one row are rounded both ways, and Hopper's tensor cores keep 13 bits of a sum.
    unit = 16 * eps("f32") + soft_cap * eps("f32") + (2**-10 if sizeof(dtype) == 1 else 0)
    out = eps("f16") if sizeof(dtype) == 1 else eps(dtype)
    return dict(out=dict(rel=out, abs=(eps(dtype) / 2 if sizeof(dtype) == 1 else 2 * out) + 8 * unit), lse=dict(rel=unit, abs=8 * unit))


def lengths_backward_tolerance(queries, keys, q, k, dtype):
    grow = sqrt(max(max(queries) * q.shape[1] // k.shape[1], max(keys))) / 4 + 1
    return dict(rel=2 * eps(dtype), abs=4 * grow * (eps(dtype) + 16 * eps("f32")))


def backward_tolerance(q, k, dtype, p):
    # As above, with dS rounded to dtype too, and sums over M queries (times the group) or N keys of
    # terms whose signs differ.
    M, N, group = q.shape[2], k.shape[2], q.shape[1] // k.shape[1]
    grow = sqrt(max(M * group, N)) / 4 + 1
    return dict(rel=2 * eps(dtype), abs=4 * grow * (eps(dtype) + 16 * eps("f32")) / (1 - p))


def tile(m, n, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, num_warps=warps, num_stages=stages)


more_masks = [
    # Windows narrower and wider than a block, at the end of a longer sequence, and behind more queries than keys.
    *[dict(B=1, H=1, M=200, D=32, dtype="f32", causal=c, window=w) for c in (False, True) for w in (1, 20, 100)],
    *[dict(B=1, H=1, M=m, N=n, D=32, dtype="f32", causal=c, window=40) for c in (False, True) for (m, n) in ((50, 230), (130, 50))],
    dict(B=1, H=2, M=150, D=32, dtype="f32", causal=True, soft_cap=2.0),
    dict(B=1, H=4, KV=2, M=100, D=32, dtype="f32", causal=True, alibi=True),
    dict(B=1, H=2, M=60, N=100, D=32, dtype="f32", alibi=True),
    dict(B=1, H=2, M=100, D=64, dtype="f16", causal=True, window=70, soft_cap=20.0, alibi=True),
]
lengths_cases = [
    *[dict(label=f"{t}, causal {c}", queries=[70, 1, 0, 33, 128], keys=[70, 50, 9, 33, 128], H=4, KV=2, D=32, dtype=t, causal=c)
      for (t, c) in (("f32", False), ("f32", True), ("f16", True))],
    dict(label="window", queries=[100, 150], keys=[100, 200], H=2, D=32, dtype="f32", window=30),
    dict(label="one token", queries=[1], keys=[1], H=1, D=16, dtype="f32"),
    dict(label="no keys", queries=[3, 2], keys=[0, 2], H=1, D=16, dtype="f32"),
]
# As many tokens, in one sequence, in sequences of one length and of many.
lengths_bench = [dict(label=name, queries=n, keys=n, H=32, KV=8, D=128, dtype="f16") for (name, n) in (
    ("one of 16384", [16384]), ("16 of 1024", [1024] * 16), ("uneven", [8000, 120, 3000, 700, 64, 2500, 1500, 500]))]

# What library kernels of the peers have.
peers_case = "window == 0 and soft_cap == 0 and slopes is None and q.shape[1] == k.shape[1] else unsupported('a window, soft cap, ALiBi or grouped heads')"

tasks = dict(
    forward=dict(
        inputs=forward_inputs, outputs=forward_outputs, tolerance=forward_tolerance,
        variants=dict(flash=dict(run=flash, configs=[tile(64, 32, 4, 3), tile(64, 64, 4, 3), tile(128, 64, 4, 3), tile(128, 64, 8, 3),
                                                     tile(128, 128, 8, 2), tile(32, 32, 4, 2), tile(16, 64, 4, 2), tile(64, 32, 8, 2)]),
                      descriptors=dict(run=flash_descriptors, configs=[tile(128, 64, 8, 3), tile(128, 128, 8, 3), tile(64, 64, 4, 2), tile(64, 64, 4, 3),
                                                                       tile(128, 64, 4, 2), tile(128, 128, 8, 2), tile(64, 128, 4, 2)])),
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
            *[dict(B=1, H=1, M=70, D=d, dtype="f16", causal=True) for d in (192, 256)],
            *more_masks,
            *[dict(B=1, H=2, KV=1, M=100, D=64, dtype=d, causal=c, descale=c) for d in ("f8e4nv", "f8e5") for c in (False, True)],
            *[dict(B=1, H=2, M=70, D=32, dtype=t, causal=c, special=s) for t in ("f32", "f16") for c in (False, True) for s in ("q", "k", "v")],
        ],
        flops=lambda q, k, causal, window: 4 * q.shape[0] * q.shape[1] * q.shape[3] * visible(q.shape[2], k.shape[2], causal, window),
        peers=dict(torch=f"F.scaled_dot_product_attention(q, k, v, is_causal=causal) if {peers_case}",
                   cudnn=f"torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal) if {peers_case}"),
    ),
    backward=dict(
        gradient=dict(of="forward", given=dict(out="do"), by=dict(dq="q", dk="k", dv="v")),
        prepare="forward", inputs=backward_inputs, outputs=backward_outputs, tolerance=backward_tolerance,
        variants=dict(flash=dict(run=flash_backward, configs=[tile(32, 32, 4, 2), tile(64, 64, 4, 2), tile(64, 64, 8, 2),
                                                              tile(64, 128, 8, 2), tile(128, 64, 8, 2)]),
                      one_pass=dict(run=flash_one_pass, configs=[tile(32, 32, 4, 2), tile(64, 64, 4, 2), tile(64, 64, 8, 2), tile(64, 128, 8, 2),
                                                                 tile(64, 128, 8, 3), tile(128, 128, 8, 2)])),
        cases=[
            *[dict(B=1, H=2, M=n, D=32, dtype="f32", causal=c) for n in (1, 63, 130) for c in (False, True)],
            *[dict(B=1, H=1, M=70, D=d, dtype="f16", causal=True) for d in (16, 40, 64, 128)],
            *[dict(B=1, H=2, M=70, D=64, dtype=t) for t in ("f32", "bf16")],
            *[dict(B=1, H=2, M=m, N=n, D=32, dtype="f32", causal=True) for (m, n) in ((50, 130), (130, 50), (1, 77))],
            *[dict(B=2, H=2, M=75, D=32, dtype="f32", bias=b, causal=c) for b in ("full", "shared", "padding") for c in (False, True)],
            *[dict(B=1, H=2, M=70, D=32, dtype="f32", p=p, causal=c) for p in (0.125, 0.5) for c in (False, True)],
            *[dict(B=2, H=h, KV=kv, M=70, D=32, dtype="f32", causal=True) for (h, kv) in ((4, 2), (4, 1), (6, 3))],
            dict(B=1, H=4, KV=2, M=90, D=64, dtype="f16", causal=True, bias="full", p=0.25),
            dict(B=1, H=1, M=70, D=256, dtype="f16", causal=True),
            *more_masks,
        ],
        # Five products where the forward pass has two.
        flops=lambda q, k, causal, window: 10 * q.shape[0] * q.shape[1] * q.shape[3] * visible(q.shape[2], k.shape[2], causal, window),
        peers=dict(cudnn="backward(lambda q, k, v: torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal)[0], (q, k, v), do)"
                         f" if {peers_case}"),
    ),
    lengths=dict(
        inputs=lengths_inputs, outputs=lengths_outputs, tolerance=lambda k, dtype: forward_tolerance(k, dtype),
        variants=dict(flash=dict(run=flash_lengths, configs=[tile(64, 32, 4, 3), tile(64, 64, 4, 3), tile(128, 64, 8, 3), tile(128, 128, 8, 2)])),
        cases=lengths_cases, bench=lengths_bench, demo=[dict(check=True, label="4 sequences", queries=[300, 20, 200, 1], keys=[300, 20, 200, 1], H=2, D=64, dtype="f32")],
        flops=lambda queries, keys, H, D, causal, window: 4 * H * D * sum([visible(m, n, causal, window) for (m, n) in zip(queries, keys)]),
    ),
    lengths_backward=dict(
        gradient=dict(of="lengths", given=dict(out="do"), by=dict(dq="q", dk="k", dv="v")),
        prepare="lengths", inputs=lengths_backward_inputs, outputs=backward_outputs, tolerance=lengths_backward_tolerance,
        variants=dict(flash=dict(run=flash_lengths_backward, configs=[tile(32, 32, 4, 2), tile(64, 64, 4, 2), tile(64, 64, 8, 2), tile(64, 128, 8, 2)])),
        cases=lengths_cases, bench=lengths_bench, demo=[dict(check=True, label="4 sequences", queries=[300, 20, 200, 1], keys=[300, 20, 200, 1], H=2, D=64, dtype="f32")],
        flops=lambda queries, keys, H, D, causal, window: 10 * H * D * sum([visible(m, n, causal, window) for (m, n) in zip(queries, keys)]),
    ),
)
demo = [dict(check=True, B=1, H=4, M=1024, D=64, dtype="f32", causal=c) for c in (False, True)]
bench = [
    *[dict(B=4, H=32, M=n, D=d, dtype="f16", causal=c) for d in (64, 128) for c in (False, True) for n in (1024, 4096, 16384)],
    dict(B=4, H=16, M=4096, D=256, dtype="f16", causal=True),
    dict(B=1, H=32, KV=8, M=16384, D=128, dtype="f16", causal=True, window=4096),
    dict(B=4, H=32, KV=8, M=4096, D=128, dtype="f16", causal=True, soft_cap=50.0),
    dict(B=4, H=32, M=4096, D=128, dtype="f16", causal=True, alibi=True),
]
