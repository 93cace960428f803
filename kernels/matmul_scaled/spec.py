doc = "Matrix products of int8 and fp8 with scales for each tensor, row or block; quantising to them and in the epilogue"


def eight_bits(shape, dtype):
    return randint(shape, -127, 128, "i8") if dtype == "i8" else randn(shape, dtype)


def scales(shape, dtype):
    # With these a scaled number has a standard deviation of about 1 in both formats.
    unit = 1 / 73 if dtype == "i8" else 1
    return rand(shape, "f32", low=0.5 * unit, high=1.5 * unit)


def largest_of(dtype):
    return 127.0 if dtype == "i8" else 448.0 if dtype == "f8e4nv" else 57344.0


def rows_inputs(M, N, K, dtype, per_tensor=False, bias=False, out="f16"):
    return dict(a=eight_bits((M, K), dtype), b=eight_bits((N, K), dtype),
                a_scale=scales((1 if per_tensor else M,), dtype), b_scale=scales((1 if per_tensor else N,), dtype),
                bias=randn((N,), "f16") if bias else None,
                c_scale=full((1,), 0.25, "f32") if sizeof(out) == 1 else None, per_tensor=per_tensor)


def rows_outputs(M, N, out="f16"):
    return dict(c=empty((M, N), out))


def pointers(a, b, a_scale, b_scale, bias, c, c_scale, M, N, K, per_tensor, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, num_warps, num_stages):
    return [launch("matmul_scaled", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), a, b, a_scale, b_scale, bias, c, c_scale, M, N, K,
                   a.stride(0), b.stride(0), c.stride(0), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M,
                   EVEN_K=K % BLOCK_K == 0, PER_TENSOR=per_tensor, num_warps=num_warps, num_stages=num_stages)]


def descriptors(a, b, a_scale, b_scale, bias, c, c_scale, M, N, K, per_tensor, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, num_warps, num_stages):
    if not all([t.stride(0) * t.element_size() % 16 == 0 for t in (a, b, c)]):
        return unsupported("strides that a tensor descriptor can't have")
    return [launch("matmul_scaled_descriptors", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),),
                   descriptor(a, [BLOCK_M, BLOCK_K]), descriptor(b, [BLOCK_N, BLOCK_K]), a_scale, b_scale, bias,
                   descriptor(c, [BLOCK_M, BLOCK_N]), c_scale, M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M,
                   PER_TENSOR=per_tensor, num_warps=num_warps, num_stages=num_stages)]


def blocks_inputs(M, N, K, dtype):
    return dict(a=eight_bits((M, K), dtype), b=eight_bits((N, K), dtype),
                a_scale=scales((cdiv(K, 128), M), dtype), b_scale=scales((cdiv(N, 128), cdiv(K, 128)), dtype))


def blocks_outputs(M, N):
    return dict(c=empty((M, N), "bf16"))


def block_scaled(a, b, a_scale, b_scale, c, M, N, K, BLOCK_M, BLOCK_N, GROUP_M, num_warps, num_stages):
    return [launch("matmul_block_scaled", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), a, b, a_scale, b_scale, c, M, N, K,
                   a.stride(0), b.stride(0), c.stride(0), a_scale.stride(0), b_scale.stride(0),
                   BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, GROUP_M=GROUP_M, EVEN_K=K % 128 == 0, num_warps=num_warps, num_stages=num_stages)]


def quantise_inputs(M, N, dtype, source="f32", nothing=False):
    return dict(x=zeros((M, N), source) if nothing else randn((M, N), source), largest=largest_of(dtype))


def quantise_rows_outputs(M, N, dtype):
    # q itself may differ in a last bit where x / scale is a tie, so what is compared is what it stands for.
    return dict(scale=empty((M,), "f32"), q=empty((M, N), dtype), restored=empty((M, N), "f32"))


def each_row(x, q, scale, restored, M, N, largest, BLOCK, num_warps):
    return [
        launch("quantise.py:quantise_rows", (M,), x, q, scale, x.stride(0), q.stride(0), N, LARGEST=largest, BLOCK=BLOCK, num_warps=num_warps),
        launch("quantise.py:restore", (M, cdiv(N, 1024)), q, scale, restored, N, q.stride(0), 1, 0, GROUP_M=1, GROUP_N=N, BLOCK=1024),
    ]


def quantise_blocks_outputs(M, N, dtype, whole=False):
    high, wide = cdiv(M, 128), cdiv(N, 128)
    return dict(scale=empty((high, wide) if whole else (wide, M), "f32"), q=empty((M, N), dtype), restored=empty((M, N), "f32"))


def each_block(x, q, scale, restored, M, N, largest, BLOCK_M, num_warps, whole=False):
    high = 128 if whole else BLOCK_M
    step_m, step_n = scale.strides if whole else (scale.stride(1), scale.stride(0))
    return [
        launch("quantise.py:quantise_blocks", (cdiv(M, high), cdiv(N, 128)), x, q, scale, M, N, x.stride(0), q.stride(0), step_m, step_n,
               LARGEST=largest, WHOLE=whole, BLOCK_M=high, BLOCK_N=128, num_warps=num_warps),
        launch("quantise.py:restore", (M, cdiv(N, 1024)), q, scale, restored, N, q.stride(0), step_m, step_n,
               GROUP_M=128 if whole else 1, GROUP_N=128, BLOCK=1024),
    ]


def product_tolerance(K, dtype, out="f16", special=None):
    # int8: the sum is exact, and four roundings of f32 follow. fp8: K products summed in f32, of
    # which a tensor core of Hopper keeps 13 bits behind the largest of an instruction's 32; scales
    # reach 1.5 each. Then one rounding to the output's dtype.
    # Of special values the largest product is that of the format's largest number.
    largest = 0 if special == None else 2 * 3 * (448 if dtype == "f8e4nv" else 57344) * 2**-13
    operands = 0 if dtype == "i8" else 1.2 * K * eps("f32") + 3 * sqrt(K) * K / 32 * 2**-13 + largest
    # A result that is quantised is divided by 0.25; the least of fp8's subnormal steps is 2^-9.
    return dict(rel=8 * eps("f32") + eps(out) / 2, abs=2.25 * operands * (4 if sizeof(out) == 1 else 1) + (2**-10 if sizeof(out) == 1 else 1e-6))


def quantise_tolerance(dtype):
    # Half a step: of the format's largest number over 127, or of the number's own size in fp8, whose
    # subnormals have steps of 2^-9 of a scale. randn stays below 6.
    return dict(scale=dict(rel=2 * eps("f32"), abs=0),
                restored=dict(rel=0, abs=0.501 * 6 / 127) if dtype == "i8" else dict(rel=0.501 * eps(dtype), abs=2**-10 * 6 / 448))


def tile(m, n, k, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, GROUP_M=8, num_warps=warps, num_stages=stages)


tiles = [tile(128, 128, 128, 8, 3), tile(128, 256, 128, 8, 3), tile(64, 64, 64, 4, 3), tile(64, 128, 128, 4, 4), tile(128, 128, 64, 4, 4)]
product_flops = lambda M, N, K: 2 * M * N * K
shapes = [(64, 64, 64), (1, 1, 1), (100, 72, 40), (130, 48, 200)]
quantise_cases = [
    *[dict(M=m, N=n, dtype=d) for d in ("i8", "f8e4nv") for (m, n) in ((1, 1), (5, 300), (130, 260))],
    dict(M=5, N=2500, dtype="i8", source="bf16"), dict(M=5, N=300, dtype="f8e5", source="f16"),
    dict(label="zeros", M=3, N=100, dtype="i8", nothing=True), dict(label="no rows", M=0, N=100, dtype="i8"),
]

tasks = dict(
    rows=dict(
        inputs=rows_inputs, outputs=rows_outputs, tolerance=product_tolerance, flops=product_flops,
        variants=dict(pointers=dict(run=pointers, configs=tiles), descriptors=dict(run=descriptors, configs=tiles)),
        cases=[
            *[dict(M=m, N=n, K=k, dtype=d) for d in ("i8", "f8e4nv") for (m, n, k) in shapes],
            dict(M=48, N=80, K=64, dtype="f8e5"),
            *[dict(M=48, N=80, K=96, dtype=d, per_tensor=True, bias=True) for d in ("i8", "f8e4nv")],
            *[dict(M=48, N=80, K=64, dtype=d, out="f8e4nv") for d in ("i8", "f8e4nv")],
            dict(M=48, N=80, K=64, dtype="i8", out="f32"),
            *[dict(M=48, N=80, K=64, dtype=d, out="bf16", special=s) for (d, s) in (("f8e4nv", "a"), ("f8e5", "b"), ("i8", "a_scale"), ("f8e4nv", "b_scale"))],
            dict(M=48, N=80, K=64, dtype="i8", out="f32", bias=True, special="bias"),
            dict(label="no rows", M=0, N=64, K=64, dtype="i8"),
        ],
        demo=[dict(check=True, M=256, N=256, K=256, dtype="i8")],
        bench=[dict(M=n, N=n, K=n, dtype=d, out="bf16") for d in ("i8", "f8e4nv") for n in (2048, 4096, 8192)],
        peers=dict(torch="torch._scaled_mm(a, b.T, a_scale[:, None], b_scale[None, :], out_dtype=torch.bfloat16)"),
    ),
    blocks=dict(
        inputs=blocks_inputs, outputs=blocks_outputs, flops=product_flops,
        tolerance=lambda K, dtype, special=None: product_tolerance(K, dtype, "bf16", special),
        variants=dict(pointers=dict(run=block_scaled, configs=[dict(BLOCK_M=m, BLOCK_N=n, GROUP_M=8, num_warps=w, num_stages=s)
                                                               for (m, n, w, s) in ((128, 128, 8, 3), (64, 128, 4, 3), (128, 64, 4, 3), (64, 64, 4, 4))])),
        cases=[dict(M=m, N=n, K=k, dtype=d) for d in ("i8", "f8e4nv") for (m, n, k) in ((64, 64, 128), (1, 1, 1), (70, 200, 300))]
              + [dict(M=70, N=80, K=200, dtype=d, special=s) for (d, s) in (("f8e4nv", "a"), ("f8e4nv", "b"), ("i8", "a_scale"))],
        demo=[dict(check=True, M=256, N=256, K=256, dtype="i8")],
        bench=[dict(M=n, N=n, K=n, dtype="f8e4nv") for n in (2048, 4096, 8192)],
    ),
    quantise_rows=dict(
        inputs=quantise_inputs, outputs=quantise_rows_outputs, tolerance=quantise_tolerance,
        variants=dict(each=dict(run=each_row, configs=[dict(BLOCK=b, num_warps=w) for (b, w) in ((4096, 8), (2048, 4), (8192, 8))])),
        cases=quantise_cases, demo=[dict(check=True, M=256, N=4096, dtype="i8")],
        bench=[dict(M=8192, N=n, dtype=d, source="bf16") for d in ("i8", "f8e4nv") for n in (4096, 14336)],
    ),
    quantise_blocks=dict(
        inputs=lambda M, N, dtype, source="f32", nothing=False, whole=False: dict(**quantise_inputs(M, N, dtype, source, nothing), whole=whole),
        outputs=quantise_blocks_outputs, tolerance=quantise_tolerance,
        variants=dict(each=dict(run=each_block, configs=[dict(BLOCK_M=m, num_warps=w) for (m, w) in ((32, 4), (16, 4), (64, 8))])),
        cases=[*quantise_cases, *[dict(label=f"128 x 128, {d}", M=130, N=260, dtype=d, whole=True) for d in ("i8", "f8e4nv")]],
        demo=[dict(check=True, M=256, N=4096, dtype="i8")],
        bench=[dict(M=8192, N=n, dtype="f8e4nv", source="bf16") for n in (4096, 14336)],
    ),
)
