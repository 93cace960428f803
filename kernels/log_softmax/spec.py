doc = "Logarithm of the softmax along the rows of a matrix"


def forward_inputs(M, N, dtype, rows=None, padding=0):
    if rows != None:
        return dict(x=values(rows, dtype))
    return dict(x=randn((M, N), dtype, std=3, strides=(N + padding, 1)))


def forward_outputs(M, N, dtype):
    return dict(y=empty((M, N), dtype))


def warps(N):
    return 4 if N <= 1024 else 8 if N <= 8192 else 16


def single_pass(x, y, M, N):
    if N > 32768:
        return unsupported("a row that a program's registers do not hold")
    return [launch("log_softmax_row", (M,), x, y, x.stride(0), y.stride(0), N, BLOCK=next_power_of_2(N), num_warps=warps(N))]


def online(x, y, M, N, BLOCK, num_warps):
    return [launch("log_softmax_online", (M,), x, y, x.stride(0), y.stride(0), N, BLOCK=BLOCK, num_warps=num_warps)]


def backward_inputs(M, N, dtype):
    return dict(x=randn((M, N), dtype, std=3), y=computed((M, N), dtype), dy=randn((M, N), dtype))


def backward_outputs(M, N, dtype):
    return dict(dx=empty((M, N), dtype))


def backward_row(y, dy, dx, M, N):
    if N > 16384:
        return unsupported("two rows that a program's registers do not hold")
    return [launch("log_softmax_backward_row", (M,), y, dy, dx, N, BLOCK=next_power_of_2(N), num_warps=warps(N))]


def backward_loop(y, dy, dx, M, N, BLOCK, num_warps):
    return [launch("log_softmax_backward_loop", (M,), y, dy, dx, N, BLOCK=BLOCK, num_warps=num_warps)]


def forward_tolerance(M, N, dtype):
    # x - max is up to 25 here and is rounded once; the sum is 1 or more with a relative error of
    # log2(N) units or, as a loop, a few more, and its logarithm has that as an absolute error.
    # Then one rounding of a result of that size to dtype.
    return dict(rel=eps(dtype) / 2 + 2 * eps("f32"), abs=(32 + log2(N + 1)) * eps("f32"))


def backward_tolerance(M, N, dtype):
    # The partial sums of dy grow to sqrt(N); as a loop each of N is rounded, in either direction:
    # sqrt(N) * sqrt(N) / 2 units. exp(y) is at most 1 and relatively off by |y| units, and where it
    # is near 1 its product cancels against dy.
    return dict(rel=eps(dtype), abs=(16 + N / 2) * eps("f32") + (3e-8 if dtype == "f16" else 0))


loop_configs = [dict(BLOCK=b, num_warps=w) for (b, w) in ((1024, 4), (1024, 8), (4096, 4), (4096, 8), (8192, 4), (8192, 8), (16384, 16))]
shapes = [
    *[dict(M=M, N=N, dtype="f32") for (M, N) in ((1, 1), (3, 17), (5, 781), (4, 1024), (2, 3000))],
    *[dict(M=3, N=781, dtype=d) for d in ("f16", "bf16")],
    dict(label="no rows", M=0, N=40, dtype="f32"),
]

tasks = dict(
    forward=dict(
        inputs=forward_inputs, outputs=forward_outputs, tolerance=forward_tolerance, flops=lambda M, N: 5 * M * N,
        variants=dict(single_pass=single_pass, online=dict(run=online, configs=loop_configs)),
        cases=[
            *shapes,
            dict(label="padded rows", M=4, N=100, dtype="f32", padding=28),
            # A first block of -inf must not spoil a row, and a row of -inf has no softmax.
            dict(label="-inf", M=3, N=1500, dtype="f32",
                 rows=[[-inf] * 1200 + [0.5, 2.0] * 150, [-inf] * 1500, [1e30, -1e30, 0.0] * 500]),
            dict(label="+inf and NaN", M=2, N=3, dtype="f32", rows=[[1.0, inf, inf], [nan, 1.0, 2.0]]),
            *[dict(M=13, N=300, dtype=d, special="x") for d in ("f32", "f16", "bf16")],
        ],
        peers=dict(torch="torch.log_softmax(x, -1)"),
    ),
    backward=dict(
        prepare="forward", gradient=dict(of="forward", given=dict(y="dy"), by=dict(dx="x")), inputs=backward_inputs, outputs=backward_outputs, tolerance=backward_tolerance, flops=lambda M, N: 4 * M * N,
        variants=dict(row=backward_row, loop=dict(run=backward_loop, configs=loop_configs)),
        cases=[*shapes, *[dict(M=13, N=300, dtype="f32", special=s) for s in ("x", "dy")]],
        peers=dict(torch="torch.ops.aten._log_softmax_backward_data(dy, y, -1, x.dtype)"),
    ),
)
demo = [dict(check=True, M=1823, N=781, dtype="f32")]
bench = [dict(M=M, N=N, dtype=d) for d in ("f32", "bf16") for (M, N) in ((16384, 1024), (16384, 4096), (4096, 32768), (2048, 128256))]
