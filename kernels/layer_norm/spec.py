doc = "Layer norm over the rows of a matrix, with weight and bias"


def forward_inputs(M, N, dtype, mean=0, padding=0):
    return dict(
        x=randn((M, N), dtype, mean=mean, strides=(N + padding, 1)),
        w=randn((N,), dtype, mean=1, std=0.2),
        b=randn((N,), dtype),
        epsilon=1e-5,
    )


def forward_outputs(M, N, dtype):
    return dict(y=empty((M, N), dtype), mean=empty((M,), "f32"), rstd=empty((M,), "f32"))


def warps(N):
    return max(min(next_power_of_2(N) // 256, 16), 1)


def row(x, w, b, y, mean, rstd, M, N, epsilon, num_warps):
    return [launch("layer_norm_row", (M,), x, w, b, y, mean, rstd, x.stride(0), y.stride(0), N, epsilon,
                   BLOCK=next_power_of_2(N), num_warps=num_warps)]


def persistent(x, w, b, y, mean, rstd, M, N, epsilon, PROGRAMS, STAGES, num_warps):
    return [launch("layer_norm_rows", (min(M, PROGRAMS),), x, w, b, y, mean, rstd, x.stride(0), y.stride(0), M, N, epsilon,
                   BLOCK=next_power_of_2(N), STAGES=STAGES, num_warps=num_warps)]


def welford(x, w, b, y, mean, rstd, M, N, epsilon, BLOCK, special=None):
    if special != None:
        return unsupported("infinities, whose mean is NaN where means are joined")
    return [launch("layer_norm_welford", (M,), x, w, b, y, mean, rstd, x.stride(0), y.stride(0), N, epsilon, BLOCK=BLOCK)]


def backward_inputs(M, N, dtype):
    return dict(**forward_inputs(M, N, dtype), dy=randn((M, N), dtype), mean=computed((M,), "f32"), rstd=computed((M,), "f32"))


def backward_outputs(M, N, dtype):
    return dict(dx=empty((M, N), dtype), dw=empty((N,), dtype), db=empty((N,), dtype))


def finish(dw_part, db_part, dw, db, parts, N):
    return launch("backward.py:sum_partials", (cdiv(N, 32),), dw_part, db_part, dw, db, parts, N, BLOCK_M=128, BLOCK_N=32)


def locked(x, w, dy, mean, rstd, dx, dw, db, M, N, GROUPS):
    groups = min(GROUPS, M)
    dw_part = empty((groups, N), "f32")
    db_part = empty((groups, N), "f32")
    return [
        launch("backward.py:backward_locked", (M,), x, w, dy, mean, rstd, dx, dw_part, db_part, zeros((2 * groups,), "i32"), N,
               GROUPS=groups, BLOCK=next_power_of_2(N), num_warps=warps(N)),
        finish(dw_part, db_part, dw, db, groups, N),
    ]


def lock_free(x, w, dy, mean, rstd, dx, dw, db, M, N, PROGRAMS, num_warps, STAGES=2):
    rows = cdiv(M, PROGRAMS)
    programs = cdiv(M, rows)
    dw_part = empty((programs, N), "f32")
    db_part = empty((programs, N), "f32")
    return [
        launch("backward.py:backward_lock_free", (programs,), x, w, dy, mean, rstd, dx, dw_part, db_part, M, N, rows,
               BLOCK=next_power_of_2(N), STAGES=STAGES, num_warps=num_warps),
        finish(dw_part, db_part, dw, db, programs, N),
    ]


def forward_tolerance(M, N, dtype, mean):
    # Mean and variance are sums of N terms in f32, as trees or short loops: log2(N) units and some.
    # A mean far from 0 costs its own size in units of x before it is taken off.
    units = (8 + log2(N + 1)) * eps("f32") * (1 + abs(mean))
    return dict(
        y=dict(rel=eps(dtype) / 2, abs=8 * units + (eps(dtype) if dtype != "f32" else 0) / 4),
        mean=dict(rel=units, abs=units),
        rstd=dict(rel=4 * units, abs=0),
    )


def backward_tolerance(M, N, dtype):
    # dx: the two means are of order 1 and cancel against g; the row's rstd scales all three and is
    # large only for a row of one element. dw and db: sums of M terms of order 1, then one rounding.
    units = (16 + log2(N + 1)) * eps("f32")
    columns = dict(rel=eps(dtype), abs=(8 + M) * eps("f32"))
    return dict(dx=dict(rel=eps(dtype), abs=8 * units * (400 if N == 1 else 1)), dw=columns, db=columns)


row_configs = [dict(num_warps=w) for w in (8, 16, 4, 2)]
rows_in_turn = [dict(PROGRAMS=p, STAGES=s, num_warps=w) for (p, s, w) in ((396, 2, 8), (396, 3, 8), (264, 3, 16), (528, 2, 8), (792, 3, 4), (1056, 2, 2))]
shares = [dict(PROGRAMS=p, num_warps=w) for (p, w) in ((264, 8), (132, 16), (264, 16), (132, 8), (528, 8), (528, 4), (1056, 4))]

tasks = dict(
    forward=dict(
        inputs=lambda M, N, dtype, offset=0, padding=0: forward_inputs(M, N, dtype, offset, padding),
        outputs=forward_outputs,
        variants=dict(row=dict(run=row, configs=row_configs), persistent=dict(run=persistent, configs=rows_in_turn),
                      welford=dict(run=welford, configs=[dict(BLOCK=b) for b in (1024, 256, 4096)])),
        cases=[
            *[dict(M=M, N=N, dtype="f32") for (M, N) in ((1, 1), (3, 17), (5, 781), (4, 1024), (2, 3000))],
            *[dict(M=3, N=781, dtype=d) for d in ("f16", "bf16")],
            dict(label="mean far from 0", M=3, N=781, dtype="f32", offset=100),
            dict(label="padded rows", M=4, N=100, dtype="f32", padding=28),
            *[dict(M=13, N=300, dtype=d, special="x") for d in ("f32", "f16")],
            dict(label="no rows", M=0, N=40, dtype="f32"),
        ],
        tolerance=lambda M, N, dtype, offset=0: forward_tolerance(M, N, dtype, offset),
        flops=lambda M, N: 8 * M * N,
        peers=dict(torch="torch.nn.functional.layer_norm(x, (x.shape[1],), w, b, epsilon)"),
    ),
    backward=dict(
        prepare="forward",
        gradient=dict(of="forward", given=dict(y="dy"), by=dict(dx="x", dw="w", db="b")),
        inputs=backward_inputs,
        outputs=backward_outputs,
        variants=dict(
            lock_free=dict(run=lock_free, configs=shares),
            locked=dict(run=locked, configs=[dict(GROUPS=g) for g in (64, 128, 256)]),
        ),
        cases=[
            *[dict(M=M, N=N, dtype="f32") for (M, N) in ((1, 1), (3, 17), (100, 200), (300, 40), (5, 781))],
            *[dict(M=70, N=100, dtype=d) for d in ("f16", "bf16")],
            *[dict(M=13, N=300, dtype="f32", special=s) for s in ("x", "dy")],
        ],
        tolerance=backward_tolerance,
        flops=lambda M, N: 14 * M * N,
        peers=dict(torch="backward(lambda x, w, b: F.layer_norm(x, (x.shape[1],), w, b), (x, w, w), dy)"),
    ),
)
demo = [dict(M=1024, N=1024, dtype="f32")]
bench = [dict(M=M, N=N, dtype="f16") for (M, N) in ((4096, 1024), (4096, 4096), (4096, 8192), (16384, 4096))]
