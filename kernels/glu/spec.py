doc = "Gated units, f(gate) * up: SwiGLU, GEGLU, GLU and ReGLU"


def forward_inputs(M, N, dtype, form="silu", std=2, packed=True, adversarial=False):
    # Packed: the two halves of the rows of one matrix of 2 N columns.
    place = dict(strides=(2 * N, 1)) if packed else dict()
    return dict(gate=special((M, N), dtype, **place) if adversarial else randn((M, N), dtype, std=std, **place),
                up=rand((M, N), dtype, **place) if adversarial else randn((M, N), dtype, **place), form=form)


def forward_outputs(M, N, dtype):
    return dict(y=empty((M, N), dtype))


def fused(gate, up, y, M, N, form, BLOCK, num_warps):
    return [launch("glu_forward", (M, cdiv(N, BLOCK)), gate, up, y, gate.stride(0), up.stride(0), y.stride(0), N,
                   GATE=form, BLOCK=BLOCK, num_warps=num_warps)]


def unfused(gate, up, y, M, N, form, BLOCK):
    # In f32, so that only the launches differ from the fused kernel.
    f = empty((M, N), "f32")
    grid = (M, cdiv(N, BLOCK))
    return [
        launch("unfused.py:activate", grid, gate, f, gate.stride(0), N, GATE=form, BLOCK=BLOCK),
        launch("unfused.py:multiply", grid, f, up, y, up.stride(0), y.stride(0), N, BLOCK=BLOCK),
    ]


def backward_inputs(M, N, dtype, form="silu", std=2, packed=True, adversarial=False):
    return dict(**forward_inputs(M, N, dtype, form, std, packed, adversarial),
                dy=rand((M, N), dtype) if adversarial else randn((M, N), dtype))


def backward_outputs(gate, up, dtype):
    return dict(dgate=empty(gate.shape, dtype, strides=gate.strides), dup=empty(up.shape, dtype, strides=up.strides))


def fused_backward(gate, up, dy, dgate, dup, M, N, form, BLOCK, num_warps):
    return [launch("glu_backward", (M, cdiv(N, BLOCK)), gate, up, dy, dgate, dup,
                   gate.stride(0), up.stride(0), dy.stride(0), dgate.stride(0), dup.stride(0), N,
                   GATE=form, BLOCK=BLOCK, num_warps=num_warps)]


def tolerance(N, dtype):
    # An exponential, a division and four products; the two terms of a slope cancel near its zero,
    # where each is of order 1. gelu and silu run to 0 from below through the subnormals of f16; the
    # far tail of gelu is a product of |x| < 40 and an exponential of a sum that is off by its size.
    return dict(rel=eps(dtype) / 2 + 16 * eps("f32"), abs=64 * eps("f32"))


configs = [dict(BLOCK=b, num_warps=w) for b in (1024, 2048, 4096) for w in (4, 8)]
cases = [
    *[dict(M=M, N=N, dtype="f32") for (M, N) in ((1, 1), (3, 17), (5, 781), (2, 3000))],
    *[dict(M=4, N=200, dtype="f32", form=f) for f in ("gelu", "sigmoid", "relu")],
    *[dict(M=3, N=781, dtype=d, form=f) for d in ("f16", "bf16") for f in ("silu", "gelu")],
    dict(label="apart", M=3, N=100, dtype="f32", packed=False),
    dict(label="far tails", M=4, N=200, dtype="f32", std=40),
    dict(label="no rows", M=0, N=40, dtype="f32"),
    *[dict(label=f"special values, {f}", M=1, N=68, dtype="f32", form=f, adversarial=True) for f in ("silu", "gelu", "sigmoid")],
]

tasks = dict(
    forward=dict(inputs=forward_inputs, outputs=forward_outputs, flops=lambda M, N: 6 * M * N, tolerance=tolerance,
                 variants=dict(fused=dict(run=fused, configs=configs),
                               unfused=dict(run=unfused, configs=[dict(BLOCK=b) for b in (1024, 4096)])),
                 peers=dict(torch="torch.nn.functional.silu(gate) * up")),
    backward=dict(gradient=dict(of="forward", given=dict(y="dy"), by=dict(dgate="gate", dup="up")), inputs=backward_inputs, outputs=backward_outputs, flops=lambda M, N: 12 * M * N, tolerance=tolerance,
                  variants=dict(fused=dict(run=fused_backward, configs=configs))),
)
demo = [dict(check=True, M=256, N=4096, dtype="f32")]
bench = [dict(M=M, N=N, dtype="bf16", form=f) for (M, N) in ((4096, 4096), (4096, 14336), (16384, 14336)) for f in ("silu", "gelu")]
