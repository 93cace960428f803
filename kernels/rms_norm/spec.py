doc = "RMS norm over the rows of a matrix, also with a residual added first"


def forward_inputs(M, N, dtype):
    return dict(x=randn((M, N), dtype), w=randn((N,), dtype, mean=1, std=0.2), epsilon=1e-6)


def forward_outputs(M, N, dtype):
    return dict(y=empty((M, N), dtype), rstd=empty((M,), "f32"))


def row(x, w, y, rstd, M, N, epsilon, num_warps):
    return [launch("rms_norm_row", (M,), x, None, w, y, None, rstd, N, epsilon, BLOCK=next_power_of_2(N), num_warps=num_warps)]


def persistent(x, w, y, rstd, M, N, epsilon, PROGRAMS, STAGES, num_warps):
    return [launch("rms_norm_rows", (min(M, PROGRAMS),), x, w, y, rstd, M, N, epsilon,
                   BLOCK=next_power_of_2(N), STAGES=STAGES, num_warps=num_warps)]


def loop(x, w, y, rstd, M, N, epsilon, BLOCK):
    return [launch("rms_norm_loop", (M,), x, w, y, rstd, N, epsilon, BLOCK=BLOCK)]


def residual_inputs(M, N, dtype):
    return dict(**forward_inputs(M, N, dtype), residual=randn((M, N), dtype))


def residual_outputs(M, N, dtype):
    return dict(**forward_outputs(M, N, dtype), total=empty((M, N), dtype))


def residual_row(x, residual, w, y, total, rstd, M, N, epsilon, num_warps):
    return [launch("rms_norm_row", (M,), x, residual, w, y, total, rstd, N, epsilon, BLOCK=next_power_of_2(N), num_warps=num_warps)]


def backward_inputs(M, N, dtype):
    return dict(**forward_inputs(M, N, dtype), dy=randn((M, N), dtype), rstd=computed((M,), "f32"))


def backward_outputs(M, N, dtype):
    return dict(dx=empty((M, N), dtype), dw=empty((N,), dtype))


def residual_backward_inputs(M, N, dtype):
    return dict(**residual_inputs(M, N, dtype), total=computed((M, N), dtype), dy=randn((M, N), dtype), dtotal=randn((M, N), dtype),
                rstd=computed((M,), "f32"))


def backward_launches(x, w, dy, dtotal, rstd, dx, dw, M, N, PROGRAMS, num_warps, STAGES):
    rows = cdiv(M, PROGRAMS)
    programs = cdiv(M, rows)
    part = empty((programs, N), "f32")
    return [
        launch("rms_norm_backward", (programs,), x, w, dy, dtotal, rstd, dx, part, M, N, rows,
               BLOCK=next_power_of_2(N), STAGES=STAGES, num_warps=num_warps),
        launch("sum_rows", (cdiv(N, 32),), part, dw, programs, N, BLOCK_M=128, BLOCK_N=32),
    ]


def lock_free(x, w, dy, rstd, dx, dw, M, N, PROGRAMS, num_warps, STAGES=2):
    return backward_launches(x, w, dy, None, rstd, dx, dw, M, N, PROGRAMS, num_warps, STAGES)


def residual_lock_free(total, w, dy, dtotal, rstd, dx, dw, M, N, PROGRAMS, num_warps, STAGES=2):
    return backward_launches(total, w, dy, dtotal, rstd, dx, dw, M, N, PROGRAMS, num_warps, STAGES)


def units(N):
    # A sum of N squares in f32, then a square root and three products.
    return (8 + log2(N + 1)) * eps("f32")


def forward_tolerance(N, dtype):
    return dict(y=dict(rel=eps(dtype) / 2 + units(N), abs=3e-8 if dtype == "f16" else 1e-38), rstd=dict(rel=units(N), abs=0))


def residual_tolerance(N, dtype):
    # The sum is rounded to dtype before the norm, which the reference does not do.
    return dict(y=dict(rel=1.1 * eps(dtype) + units(N), abs=2 * eps(dtype)), rstd=dict(rel=eps(dtype) + units(N), abs=0),
                total=dict(rel=eps(dtype) / 2 + eps("f32"), abs=1e-38))


def backward_tolerance(M, N, dtype):
    # The mean is of order 1 and cancels against g; rstd is large only for a row of one element.
    return dict(dx=dict(rel=eps(dtype), abs=8 * units(N) * (20 if N == 1 else 1)), dw=dict(rel=eps(dtype), abs=(8 + M) * eps("f32")))


row_configs = [dict(num_warps=w) for w in (8, 16, 4, 2)]
rows_in_turn = [dict(PROGRAMS=p, STAGES=s, num_warps=w) for (p, s, w) in ((396, 2, 8), (396, 3, 8), (264, 3, 16), (528, 2, 8), (792, 3, 4), (1056, 2, 2))]
shares = [dict(PROGRAMS=p, num_warps=w) for (p, w) in ((264, 8), (132, 16), (264, 16), (132, 8), (528, 8), (528, 4), (1056, 4))]

tasks = dict(
    forward=dict(inputs=forward_inputs, outputs=forward_outputs, tolerance=forward_tolerance, flops=lambda M, N: 4 * M * N,
                 peers=dict(torch="torch.nn.functional.rms_norm(x, (x.shape[1],), w, epsilon)"),
                 variants=dict(row=dict(run=row, configs=row_configs), persistent=dict(run=persistent, configs=rows_in_turn),
                               loop=dict(run=loop, configs=[dict(BLOCK=b) for b in (1024, 256, 4096)]))),
    residual=dict(inputs=residual_inputs, outputs=residual_outputs, tolerance=residual_tolerance, flops=lambda M, N: 5 * M * N,
                  variants=dict(row=dict(run=residual_row, configs=row_configs))),
    backward=dict(inputs=backward_inputs, outputs=backward_outputs, tolerance=backward_tolerance, flops=lambda M, N: 9 * M * N,
                  prepare="forward", gradient=dict(of="forward", given=dict(y="dy"), by=dict(dx="x", dw="w")), variants=dict(lock_free=dict(run=lock_free, configs=shares)),
                  peers=dict(torch="backward(lambda x, w: F.rms_norm(x, (x.shape[1],), w), (x, w), dy)")),
    residual_backward=dict(inputs=residual_backward_inputs, outputs=backward_outputs, tolerance=backward_tolerance, flops=lambda M, N: 10 * M * N,
                           prepare="residual", variants=dict(lock_free=dict(run=residual_lock_free, configs=shares))),
)
cases = [
    *[dict(M=M, N=N, dtype="f32") for (M, N) in ((1, 1), (3, 17), (5, 781), (300, 40), (2, 3000))],
    *[dict(M=6, N=781, dtype=d) for d in ("f16", "bf16")],
    *[dict(M=13, N=300, dtype=d, special="x") for d in ("f32", "f16")],
]
demo = [dict(M=1024, N=1024, dtype="f32")]
bench = [dict(M=M, N=N, dtype="bf16") for (M, N) in ((4096, 1024), (4096, 4096), (4096, 8192), (16384, 4096))]
