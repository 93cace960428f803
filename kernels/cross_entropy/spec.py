doc = "Cross entropy with label smoothing and ignored rows; also fused with the last linear layer, whose logits never lie in memory whole"


def make_targets(M, N, targets):
    return randint((M,), 0, N, "i64") if targets == None else values(targets, "i64")


def forward_inputs(M, N, dtype, smoothing=0.0, targets=None, rows=None, padding=0):
    return dict(x=values(rows, dtype) if rows != None else randn((M, N), dtype, std=3, strides=(N + padding, 1)),
                target=make_targets(M, N, targets), ignore_index=-100, smoothing=smoothing)


def forward_outputs(M):
    return dict(loss=empty((M,), "f32"), lse=empty((M,), "f32"))


def online(x, target, loss, lse, M, N, ignore_index, smoothing, BLOCK, num_warps):
    return [launch("cross_entropy_forward", (M,), x, target, loss, lse, x.stride(0), N, ignore_index, smoothing,
                   SMOOTH=smoothing > 0, BLOCK=BLOCK, num_warps=num_warps)]


def backward_inputs(M, N, dtype, smoothing=0.0, targets=None, rows=None, padding=0):
    return dict(**forward_inputs(M, N, dtype, smoothing, targets, rows, padding), dloss=randn((M,), "f32"), lse=computed((M,), "f32"))


def backward_outputs(M, N, dtype):
    return dict(dx=empty((M, N), dtype))


def blocks(x, target, lse, dloss, dx, M, N, ignore_index, smoothing, BLOCK, num_warps):
    return [launch("cross_entropy_backward", (M, cdiv(N, BLOCK)), x, target, lse, dloss, dx, x.stride(0), dx.stride(0), N,
                   ignore_index, smoothing, SMOOTH=smoothing > 0, BLOCK=BLOCK, num_warps=num_warps)]


def fused_inputs(M, N, dtype, smoothing=0.0, targets=None, rows=None, padding=0):
    return dict(**forward_inputs(M, N, dtype, smoothing, targets, rows, padding), scale=1 / max(M, 1))


def fused_outputs(M, N, dtype):
    return dict(loss=empty((M,), "f32"), dx=empty((M, N), dtype))


def fused(x, target, loss, dx, M, N, ignore_index, smoothing, scale, BLOCK, num_warps):
    return [launch("cross_entropy_fused", (M,), x, target, loss, dx, x.stride(0), dx.stride(0), N, ignore_index, smoothing, scale, 0,
                   SMOOTH=smoothing > 0, BLOCK=BLOCK, num_warps=num_warps)]


def linear_inputs(M, V, H, dtype, smoothing=0.0, targets=None):
    # Logits of order 3, as those of a model.
    return dict(x=randn((M, H), dtype), w=randn((V, H), dtype, std=3 / sqrt(H)), target=make_targets(M, V, targets),
                ignore_index=-100, smoothing=smoothing, scale=1 / max(M, 1))


def linear_outputs(M, V, H, dtype):
    # dw adds up over chunks, and over batches in its own time: in f32, as a main gradient.
    return dict(loss=empty((M,), "f32"), dx=empty((M, H), dtype), dw=empty((V, H), "f32"))


def chunked(x, w, target, loss, dx, dw, M, V, H, ignore_index, smoothing, scale, CHUNK, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    logits = empty((min(CHUNK, M), V), x.dtype)
    precision = "ieee" if x.dtype == "f32" else "tf32"

    def product(a, b, c, starts, m, n, k, strides, add):
        return launch("linear.py:product", (cdiv(m, BLOCK_M) * cdiv(n, BLOCK_N),), a, b, c, *starts, m, n, k, *strides,
                      BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=8, EVEN_K=k % BLOCK_K == 0, ADD=add,
                      PRECISION=precision, num_warps=num_warps, num_stages=num_stages)

    launches = []
    for first in range(0, M, CHUNK):
        m = min(CHUNK, M - first)
        launches = launches + [
            product(x, w, logits, (first * H, 0, 0), m, V, H, (H, 1, 1, H, V), False),
            launch("cross_entropy_fused", (m,), logits, target, loss, logits, V, V, V, ignore_index, smoothing, scale, first,
                   SMOOTH=smoothing > 0, BLOCK=min(4096, next_power_of_2(V)), num_warps=8),
            product(logits, w, dx, (0, 0, first * H), m, H, V, (V, 1, H, 1, H), False),
            product(logits, x, dw, (0, first * H, 0), V, H, m, (1, V, H, 1, H), first > 0),
        ]
    return launches


def linear_loss_outputs(M):
    return dict(loss=empty((M,), "f32"))


def streamed(x, w, target, loss, M, V, H, ignore_index, SPLITS, BLOCK_M, BLOCK_V, BLOCK_H, num_warps, num_stages):
    width = cdiv(cdiv(V, SPLITS), BLOCK_V) * BLOCK_V
    splits = cdiv(V, width)
    m = empty((splits, M), "f32")
    s = empty((splits, M), "f32")
    picked = empty((splits, M), "f32")
    return [
        launch("linear.py:streamed", (cdiv(M, BLOCK_M), splits), x, w, target, m, s, picked, M, V, H, width,
               BLOCK_M=BLOCK_M, BLOCK_V=BLOCK_V, BLOCK_H=BLOCK_H, EVEN_H=H % BLOCK_H == 0,
               PRECISION="ieee" if x.dtype == "f32" else "tf32", num_warps=num_warps, num_stages=num_stages),
        launch("linear.py:join_slices", (cdiv(M, 128),), m, s, picked, target, loss, M, V, splits, ignore_index, BLOCK=128),
    ]


def loss_tolerance(N):
    # Logits up to 15 lose half a unit each; the sum is off by log2(N) units as a tree and a few more
    # as a loop; its logarithm has that as an absolute error. The mean of smoothing is a sum of N.
    unit = eps("f32")
    return dict(rel=4 * unit, abs=(64 + log2(N + 1)) * unit)


def gradient_tolerance(N, dtype, scale=1):
    # A probability is at most 1 and off by the error of its exponent; at the target it cancels
    # against 1. dloss reaches 4.
    return dict(rel=eps(dtype) / 2 + 4 * eps("f32"), abs=(256 * eps("f32")) * scale + (3e-8 if dtype == "f16" else 0))


def linear_tolerance(M, V, H, dtype):
    # Logits are sums of H products with a total of order 3, off by sqrt(H) units of f32; with
    # gradients they are rounded to dtype, as is their gradient g after them: g is off by 10 eps(dtype)
    # of its size. g is of order 1 / M in the target's place and of M's smaller elsewhere, so that
    # dx, a sum over V, is of order (3 / sqrt(H)) / M, and dw, a sum over M, of order 1 / M.
    logits = 10 * eps(dtype) + sqrt(H) * eps("f32")
    return dict(loss=dict(rel=4 * eps("f32"), abs=logits + 64 * eps("f32")),
                dx=dict(rel=eps(dtype), abs=2 * (logits + 64 * eps("f32")) / M + (3e-8 if dtype == "f16" else 0)),
                dw=dict(rel=eps(dtype), abs=2 * (logits + 64 * eps("f32")) / sqrt(M)))


loop_configs = [dict(BLOCK=b, num_warps=w) for (b, w) in ((1024, 4), (2048, 4), (4096, 8), (8192, 8), (4096, 16), (16384, 16))]
shapes = [
    *[dict(M=M, N=N, dtype="f32") for (M, N) in ((1, 1), (3, 17), (5, 781), (2, 3000))],
    *[dict(M=4, N=781, dtype=d) for d in ("f16", "bf16")],
    dict(M=4, N=1100, dtype="f32", smoothing=0.125),
    dict(label="ignored rows", M=4, N=50, dtype="f32", targets=[-100, 3, 49, -100], smoothing=0.125),
    dict(label="targets out of range", M=4, N=50, dtype="f32", targets=[50, 3, -1, 1 << 40]),
    dict(label="padded rows", M=4, N=100, dtype="f32", padding=28),
    dict(label="no rows", M=0, N=40, dtype="f32"),
    # Classes that a mask rules out; a row of a single class; a target that is ruled out.
    dict(label="-inf", M=3, N=1500, dtype="f32", targets=[1200, 700, 2],
         rows=[[-inf] * 1200 + [0.5, 2.0] * 150, [-inf] * 700 + [1.0] + [-inf] * 799, [-inf, 1.0, -inf] * 500]),
    dict(label="+inf and NaN", M=2, N=3, dtype="f32", targets=[1, 2], rows=[[1.0, inf, inf], [nan, 1.0, 2.0]]),
]
tile = lambda m, n, k, warps, stages: dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=warps, num_stages=stages)

tasks = dict(
    forward=dict(
        inputs=forward_inputs, outputs=forward_outputs, tolerance=loss_tolerance, flops=lambda M, N: 5 * M * N,
        variants=dict(online=dict(run=online, configs=loop_configs)), cases=shapes,
        peers=dict(torch="torch.nn.functional.cross_entropy(x, target, reduction='none', ignore_index=ignore_index, label_smoothing=smoothing)"),
    ),
    backward=dict(
        gradient=dict(of="forward", given=dict(loss="dloss"), by=dict(dx="x")),
        prepare="forward", inputs=backward_inputs, outputs=backward_outputs, flops=lambda M, N: 4 * M * N,
        tolerance=lambda N, dtype: gradient_tolerance(N, dtype), variants=dict(blocks=dict(run=blocks, configs=loop_configs)),
        # Where lse is -inf or NaN by the case's design, the forward pass is the test.
        cases=[c for c in shapes if "label" not in c or c["label"] != "+inf and NaN"],
        peers=dict(torch="backward(lambda x: F.cross_entropy(x, target, reduction='none', ignore_index=ignore_index, label_smoothing=smoothing), (x,), dloss)"),
    ),
    loss_and_gradient=dict(
        gradient=dict(of="forward", given=dict(loss="scale"), by=dict(dx="x")),
        inputs=fused_inputs, outputs=fused_outputs, flops=lambda M, N: 9 * M * N,
        tolerance=lambda M, N, dtype: dict(loss=loss_tolerance(N), dx=gradient_tolerance(N, dtype, 1 / max(M, 1))),
        variants=dict(fused=dict(run=fused, configs=loop_configs, bytes=lambda x, dx: x.nbytes + dx.nbytes)), cases=shapes,
    ),
    linear=dict(
        gradient=dict(of="linear", given=dict(loss="scale"), by=dict(dx="x", dw="w")),
        inputs=linear_inputs, outputs=linear_outputs, tolerance=linear_tolerance, flops=lambda M, V, H: 6 * M * V * H,
        variants=dict(chunked=dict(run=chunked, configs=[dict(CHUNK=c, **tile(*t)) for c in (2048, 1024, 4096)
                                                         for t in ((128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (64, 64, 32, 4, 3))])),
        cases=[dict(M=5, V=200, H=40, dtype="f32"), dict(M=40, V=130, H=64, dtype="f32", smoothing=0.125),
               dict(M=30, V=100, H=32, dtype="f16"), dict(M=30, V=100, H=32, dtype="bf16"),
               dict(label="ignored rows", M=4, V=100, H=16, dtype="f32", targets=[-100, 3, 99, -100])],
        demo=[dict(check=True, M=128, V=1000, H=64, dtype="f32")],
        bench=[dict(M=8192, V=v, H=4096, dtype="bf16") for v in (32768, 128256)],
        # The loss and both gradients, as here.
        peers=dict(torch="(lambda x, w: torch.autograd.grad(F.cross_entropy(x @ w.T, target, reduction='sum'), (x, w)))(x.detach().requires_grad_(), w.detach().requires_grad_())"),
    ),
    linear_loss=dict(
        inputs=linear_inputs, outputs=linear_loss_outputs, flops=lambda M, V, H: 2 * M * V * H,
        tolerance=lambda H: dict(rel=8 * eps("f32"), abs=(64 + 2 * sqrt(H)) * eps("f32")),
        variants=dict(streamed=dict(run=streamed, configs=[
            dict(SPLITS=s, BLOCK_M=m, BLOCK_V=v, BLOCK_H=h, num_warps=w, num_stages=3)
            for (m, v, h, w) in ((128, 128, 64, 8), (128, 256, 64, 8), (64, 64, 32, 4)) for s in (8, 4, 16)])),
        cases=[dict(M=5, V=200, H=40, dtype="f32"), dict(M=70, V=1000, H=64, dtype="f32"),
               *[dict(M=30, V=300, H=32, dtype=d) for d in ("f16", "bf16")],
               dict(label="ignored and wild targets", M=4, V=100, H=16, dtype="f32", targets=[-100, 3, 100, -1])],
        demo=[dict(check=True, M=128, V=1000, H=64, dtype="f32")],
        bench=[dict(M=8192, V=v, H=4096, dtype="bf16") for v in (32768, 128256)],
        peers=dict(torch="torch.nn.functional.cross_entropy(x @ w.T, target, reduction='none')"),
    ),
)
demo = [dict(check=True, M=512, N=4096, dtype="f32")]
bench = [dict(M=M, N=N, dtype="bf16") for (M, N) in ((8192, 32768), (8192, 128256), (2048, 128256))]
