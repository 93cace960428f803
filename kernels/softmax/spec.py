doc = "Softmax along the rows of a matrix"

PROGRAMS = 528  # four waves of an H200's 132 SMs; any count is right


def forward_inputs(M, N, dtype, rows=None, padding=0):
    if rows != None:
        return dict(x=values(rows, dtype))
    return dict(x=randn((M, N), dtype, std=3, strides=(N + padding, 1)))


def forward_outputs(M, N, dtype):
    return dict(y=empty((M, N), dtype))


def warps(N):
    return 4 if N <= 1024 else 8 if N <= 8192 else 16


def single_pass(x, y, M, N):
    return [launch("softmax_row", (M,), x, y, x.stride(0), y.stride(0), N, BLOCK=next_power_of_2(N), num_warps=warps(N))]


def persistent(x, y, M, N, STAGES):
    return [launch("softmax_rows", (min(M, PROGRAMS),), x, y, x.stride(0), y.stride(0), M, N,
                   BLOCK=next_power_of_2(N), STAGES=STAGES, num_warps=warps(N))]


def online(x, y, M, N, BLOCK, num_warps):
    return [launch("softmax_online", (M,), x, y, x.stride(0), y.stride(0), N, BLOCK=BLOCK, num_warps=num_warps)]


def three_pass(x, y, M, N, BLOCK, num_warps):
    return [launch("three_pass.py:softmax_three_pass", (M,), x, y, x.stride(0), y.stride(0), N, BLOCK=BLOCK, num_warps=num_warps)]


def unfused(x, y, M, N):
    BLOCK = 1024
    peak = empty((M,), "f32")
    shifted = empty((M, N), "f32")
    e = empty((M, N), "f32")
    total = empty((M,), "f32")
    tiles = (M, cdiv(N, BLOCK))
    return [
        launch("unfused.py:row_max", (M,), x, peak, x.stride(0), N, BLOCK=BLOCK),
        launch("unfused.py:subtract_row", tiles, x, peak, shifted, x.stride(0), N, BLOCK=BLOCK),
        launch("unfused.py:exponential", (cdiv(M * N, BLOCK),), shifted, e, M * N, BLOCK=BLOCK),
        launch("unfused.py:row_sum", (M,), e, total, N, BLOCK=BLOCK),
        launch("unfused.py:divide_row", tiles, e, total, y, y.stride(0), N, BLOCK=BLOCK),
    ]


def backward_inputs(M, N, dtype):
    return dict(x=randn((M, N), dtype, std=3), y=computed((M, N), dtype), dy=randn((M, N), dtype))


def backward_outputs(M, N, dtype):
    return dict(dx=empty((M, N), dtype))


def backward_row(y, dy, dx, M, N):
    return [launch("softmax_backward_row", (M,), y, dy, dx, N, BLOCK=next_power_of_2(N), num_warps=warps(N))]


def forward_tolerance(M, N, dtype):
    # exp costs a few units, more for the rounding of x - max (up to 20 here); a sum of N terms in
    # f32 adds log2(N) / 2 units as a tree and up to sqrt(N) as a loop; then one rounding to dtype.
    # The absolute part is half the least f16: results below 6e-5 are subnormal there.
    return dict(rel=eps(dtype) / 2 + (16 + sqrt(N)) * eps("f32"), abs=3e-8 if dtype == "f16" else 1e-38)


def backward_tolerance(M, N, dtype):
    # y sums to 1 and dy is of order 1, so the inner sum is off by about sqrt(N) units of f32, at
    # most; dy minus that sum cancels, hence an absolute bound, scaled by y <= 1.
    return dict(rel=eps(dtype), abs=(4 + sqrt(N)) * eps("f32"))


loop_configs = [dict(BLOCK=b, num_warps=w) for b in (1024, 256, 4096) for w in (4, 8)]

tasks = dict(
    forward=dict(
        inputs=forward_inputs,
        outputs=forward_outputs,
        variants=dict(
            single_pass=single_pass,
            persistent=dict(run=persistent, configs=[dict(STAGES=s) for s in (2, 1, 4)]),
            online=dict(run=online, configs=loop_configs),
            three_pass=dict(run=three_pass, configs=loop_configs),
            unfused=unfused,
        ),
        cases=[
            *[dict(M=M, N=N, dtype="f32") for (M, N) in ((1, 1), (3, 17), (5, 781), (4, 1024), (2, 3000))],
            *[dict(M=3, N=781, dtype=d) for d in ("f16", "bf16")],
            dict(label="padded rows", M=4, N=100, dtype="f32", padding=28),
            # A first block of -inf must not spoil a row, and a row of -inf has no softmax.
            dict(label="-inf", M=3, N=1500, dtype="f32",
                 rows=[[-inf] * 1200 + [0.5, 2.0] * 150, [-inf] * 1500, [1e30, -1e30, 0.0] * 500]),
            dict(label="+inf and NaN", M=2, N=3, dtype="f32", rows=[[1.0, inf, 0.0], [nan, 1.0, 2.0]]),
            *[dict(M=13, N=300, dtype=d, special="x") for d in ("f32", "f16", "bf16")],
            dict(label="no rows", M=0, N=40, dtype="f32"),
        ],
        tolerance=forward_tolerance,
        flops=lambda M, N: 5 * M * N,
        peers=dict(torch="torch.softmax(x, -1)"),
    ),
    backward=dict(
        prepare="forward",
        inputs=backward_inputs,
        outputs=backward_outputs,
        variants=dict(row=backward_row),
        cases=[
            *[dict(M=M, N=N, dtype="f32") for (M, N) in ((1, 1), (5, 781), (2, 3000))],
            *[dict(M=3, N=781, dtype=d) for d in ("f16", "bf16")],
            *[dict(M=13, N=300, dtype="f32", special=s) for s in ("x", "dy")],
        ],
        tolerance=backward_tolerance,
        flops=lambda M, N: 4 * M * N,
        peers=dict(torch="torch.ops.aten._softmax_backward_data(dy, y, -1, x.dtype)"),
    ),
)
demo = [dict(check=True, M=1823, N=781, dtype="f32")]
bench = [dict(M=M, N=N, dtype="f32") for (M, N) in ((16384, 781), (16384, 4096), (8192, 16384), (16384, 16384))]
