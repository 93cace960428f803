doc = "C = activation(A @ B + bias) + residual"


def inputs(M, N, K, dtype, bias=False, transposed="", activation="none", precision="ieee", residual=False, quantised=False):
    return dict(
        a=randn((M, K), dtype, strides=(1, M) if "a" in transposed else (K, 1)),
        b=randn((K, N), dtype, strides=(1, K) if "b" in transposed else (N, 1)),
        bias=randn((N,), dtype) if bias else None,
        residual=randn((M, N), dtype) if residual else None,
        scale=full((1,), 0.25, "f32") if quantised else None,
        activation=activation,
        precision=precision,
    )


def output_type(dtype, quantised=False):
    return "f8e4nv" if quantised else "f16" if sizeof(dtype) == 1 else dtype


def outputs(M, N, dtype, quantised=False):
    return dict(c=empty((M, N), output_type(dtype, quantised)))


def grouped(a, b, bias, residual, scale, c, M, N, K, activation, precision, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, num_warps, num_stages):
    return [launch("matmul", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), a, b, bias, c, M, N, K,
                   a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
                   BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M,
                   ACTIVATION=activation, PRECISION=precision, residual_ptr=residual, scale_ptr=scale,
                   num_warps=num_warps, num_stages=num_stages)]


def have_descriptors(a, b, c):
    # A descriptor needs a last stride of 1, other strides of a multiple of 16 bytes, and elements.
    return all([t.stride(1) == 1 and t.stride(0) * t.element_size() % 16 == 0 and t.numel() > 0 for t in (a, b, c)])


def descriptors(a, b, bias, residual, scale, c, M, N, K, activation, precision, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, num_warps, num_stages):
    if not have_descriptors(a, b, c):
        return unsupported("a shape or strides that a tensor descriptor can't have")
    return [launch("matmul_descriptors", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),),
                   descriptor(a, [BLOCK_M, BLOCK_K]), descriptor(b, [BLOCK_K, BLOCK_N]), bias, descriptor(c, [BLOCK_M, BLOCK_N]),
                   M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M,
                   ACTIVATION=activation, PRECISION=precision, residual_ptr=residual, residual_stride=c.stride(0), scale_ptr=scale,
                   num_warps=num_warps, num_stages=num_stages)]


PROGRAMS = 132  # an H200's SMs, each of which holds one program of the large tiles; any count is right


def persistent(a, b, bias, residual, scale, c, M, N, K, activation, precision, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, HALVES, num_warps, num_stages):
    if not have_descriptors(a, b, c):
        return unsupported("a shape or strides that a tensor descriptor can't have")
    return [launch("persistent.py:matmul_persistent", (min(PROGRAMS, cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)),),
                   descriptor(a, [BLOCK_M, BLOCK_K]), descriptor(b, [BLOCK_K, BLOCK_N]), bias,
                   descriptor(c, [BLOCK_M, BLOCK_N // 2 if HALVES else BLOCK_N]), M, N, K,
                   BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, HALVES=HALVES,
                   ACTIVATION=activation, PRECISION=precision, residual_ptr=residual, residual_stride=c.stride(0), scale_ptr=scale,
                   num_warps=num_warps, num_stages=num_stages)]


def persistent_pointers(a, b, bias, residual, scale, c, M, N, K, activation, precision, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, num_warps, num_stages, few=None):
    if residual != None or scale != None:
        return unsupported("a residual or a quantised result")
    programs = PROGRAMS if few == None else few
    return [launch("persistent.py:matmul_persistent_pointers", (min(programs, cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)),), a, b, bias, c, M, N, K,
                   a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
                   BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M,
                   ACTIVATION=activation, PRECISION=precision, num_warps=num_warps, num_stages=num_stages)]


def stream_k(a, b, bias, residual, scale, c, M, N, K, activation, precision, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, PROGRAMS, num_warps, num_stages, few=None):
    if residual != None or scale != None:
        return unsupported("a residual or a quantised result")
    PROGRAMS = PROGRAMS if few == None else few
    tiles = cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)
    steps = cdiv(K, BLOCK_K)
    left = tiles % PROGRAMS
    run = max(cdiv(left * steps, PROGRAMS), 1)
    partial = empty((PROGRAMS, 2, BLOCK_M, BLOCK_N), "f32")
    tile = dict(BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, ACTIVATION=activation)
    return [
        launch("stream_k.py:matmul_stream_k", (PROGRAMS,), a, b, bias, c, partial, M, N, K, tiles - left, run,
               a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
               EVEN_K=K % BLOCK_K == 0, PRECISION=precision, **tile, num_warps=num_warps, num_stages=num_stages),
        launch("stream_k.py:join_runs", (left, BLOCK_M // 16), partial, bias, c, M, N, K, tiles - left, run, c.stride(0), c.stride(1),
               ROWS=16, **tile),
    ]


def split_k(a, b, bias, residual, scale, c, M, N, K, activation, precision, BLOCK_M, BLOCK_N, BLOCK_K, SPLITS):
    if residual != None or scale != None:
        return unsupported("a residual or a quantised result")
    depth = max(cdiv(cdiv(K, SPLITS), BLOCK_K), 1) * BLOCK_K
    splits = max(cdiv(K, depth), 1)
    partial = empty((splits, M, N), "f32")
    return [
        launch("matmul_split_k", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N), splits), a, b, partial, M, N, K, depth,
               a.stride(0), a.stride(1), b.stride(0), b.stride(1),
               BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, PRECISION=precision),
        launch("sum_splits", (M, cdiv(N, 512)), partial, bias, c, M, N, splits, c.stride(0), c.stride(1),
               BLOCK=512, ACTIVATION=activation),
    ]


def unfused(a, b, bias, residual, scale, c, M, N, K, activation, precision, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M):
    if residual != None or scale != None:
        return unsupported("a residual or a quantised result")
    product = empty((M, N), "f32")
    biased = empty((M, N), "f32") if bias != None else product
    return [
        launch("matmul", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), a, b, None, product, M, N, K,
               a.stride(0), a.stride(1), b.stride(0), b.stride(1), N, 1,
               BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, ACTIVATION="none", PRECISION=precision),
        *([launch("unfused.py:add_bias", (M, cdiv(N, 512)), product, bias, biased, N, BLOCK=512)] if bias != None else []),
        launch("unfused.py:apply", (cdiv(M * N, 1024),), biased, c, M * N, BLOCK=1024, ACTIVATION=activation),
    ]


def tile(m, n, k, warps, stages, group=8):
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, GROUP_M=group, num_warps=warps, num_stages=stages)


tiles = [tile(64, 64, 32, 4, 3), tile(128, 128, 64, 8, 3), tile(128, 256, 64, 8, 3), tile(64, 128, 32, 4, 4),
         tile(32, 64, 64, 4, 4), tile(16, 128, 64, 4, 4), tile(128, 256, 128, 8, 3), tile(64, 128, 64, 4, 4), tile(256, 128, 32, 8, 4),
         tile(64, 128, 128, 4, 4)]

variants = dict(
    grouped=dict(run=grouped, configs=tiles),
    row_order=dict(run=grouped, configs=[tile(64, 64, 32, 4, 3, group=1), tile(128, 128, 64, 8, 3, group=1)]),
    descriptors=dict(run=descriptors, configs=tiles),
    persistent=dict(run=persistent, configs=[dict(**t, HALVES=h) for t in (tile(64, 64, 32, 4, 3), tile(128, 128, 64, 8, 4), tile(128, 256, 64, 8, 3))
                                             for h in (True, False)]),
    persistent_pointers=dict(run=persistent_pointers, configs=[tile(64, 64, 32, 4, 3), tile(128, 128, 64, 8, 3), tile(128, 256, 64, 8, 3)]),
    stream_k=dict(run=stream_k, configs=[dict(**t, PROGRAMS=p) for t in (tile(128, 128, 64, 8, 3), tile(64, 64, 32, 4, 3), tile(128, 256, 64, 8, 3))
                                         for p in (132, 264)]),
    split_k=dict(run=split_k, configs=[dict(BLOCK_M=32, BLOCK_N=64, BLOCK_K=64, SPLITS=s) for s in (4, 2, 8)]),
    unfused=dict(run=unfused, configs=[tile(64, 64, 32, 4, 3), tile(128, 128, 64, 8, 3)]),
)

cases = [
    *[dict(M=M, N=N, K=K, dtype="f16") for (M, N, K) in ((64, 64, 64), (1, 1, 1), (100, 72, 40), (256, 192, 130), (7, 300, 513))],
    *[dict(M=96, N=80, K=64, dtype=d) for d in ("f32", "bf16", "f8e4nv", "f8e5")],
    dict(M=96, N=80, K=64, dtype="f32", precision="tf32"),
    *[dict(M=70, N=136, K=64, dtype="f16", bias=True, activation=f) for f in ("none", "relu", "silu", "gelu")],
    *[dict(M=70, N=136, K=64, dtype=d, bias=True, activation="silu", residual=True) for d in ("f16", "f32")],
    *[dict(M=70, N=n, K=64, dtype="bf16", activation="relu", quantised=True) for n in (136, 144)],
    # Five programs: tile after tile; for stream-K five tiles of nine whole, and the rest cut across their edges.
    dict(M=300, N=300, K=300, dtype="f16", bias=True, activation="relu", few=5),
    *[dict(M=65, N=72, K=48, dtype="f16", transposed=t) for t in ("a", "b", "ab")],
    *[dict(M=40, N=72, K=64, dtype=d, special=s) for d in ("f16", "f32") for s in ("a", "b")],
    *[dict(label=f"no {what}", M=m, N=n, K=k, dtype="f16") for (what, m, n, k) in (("rows", 0, 8, 16), ("columns", 8, 0, 16), ("steps", 24, 40, 0))],
]
demo = [dict(M=512, N=512, K=512, dtype="f32")]
bench = [
    *[dict(M=n, N=n, K=n, dtype=d) for d in ("f16", "f32") for n in (128, 256, 512, 1024, 2048, 4096, 8192)],
    *[dict(M=n, N=n, K=n, **c) for c in (dict(dtype="bf16"), dict(dtype="f32", precision="tf32"), dict(dtype="f8e4nv", transposed="b"))
      for n in (2048, 4096, 8192)],
]


def tolerance(K, dtype, precision, quantised=False):
    # K products of order 1 are summed in f32: the sum grows to sqrt(K) and is rounded K times, so
    # its error is of order eps * K / 2 at worst. tf32 also rounds both operands of each product.
    # gelu and silu have slopes up to 1.13 and cost a few units more. Then one rounding to dtype.
    # A tensor core of Hopper keeps 13 bits behind the largest of an fp8 instruction's sum of 32.
    operands = 8 * sqrt(K) * eps("tf32") if precision == "tf32" else 3 * sqrt(K) * K / 32 * 2**-13 if sizeof(dtype) == 1 else 0
    # A quantised result is divided by 0.25; the least of fp8's subnormal steps is 2^-9.
    return dict(rel=8 * eps("f32") + eps(output_type(dtype, quantised)) / 2,
                abs=1.2 * (K * eps("f32") + operands) * (4 if quantised else 1) + (2**-10 if quantised else 1e-7))


flops = lambda M, N, K: 2 * M * N * K
peers = dict(torch="torch.matmul(a, b)",
             scaled_mm="torch._scaled_mm(a, b, torch.ones((), device='cuda'), torch.ones((), device='cuda'), out_dtype=torch.float16)"
                       " if a.element_size() == 1 else unsupported('fp8 alone')")
