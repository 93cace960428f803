doc = "GELU, y = x Phi(x), in the tanh and the exact form"


def forward_inputs(n, dtype, std=2):
    return dict(x=randn((n,), dtype, std=std))


def forward_outputs(n, dtype):
    return dict(y=empty((n,), dtype))


def backward_inputs(n, dtype, std=2):
    return dict(x=randn((n,), dtype, std=std), dy=randn((n,), dtype))


def backward_outputs(n, dtype):
    return dict(dx=empty((n,), dtype))


def fused_tanh(x, y, n, BLOCK, num_warps):
    return [launch("gelu_tanh", (cdiv(n, BLOCK),), x, y, n, BLOCK=BLOCK, num_warps=num_warps)]


def fused_exact(x, y, n, BLOCK, num_warps):
    return [launch("gelu_erf", (cdiv(n, BLOCK),), x, y, n, BLOCK=BLOCK, num_warps=num_warps)]


def unfused(x, y, n):
    BLOCK = 1024
    grid = (cdiv(n, BLOCK),)
    # Temporaries in f32, two of them used in turn, so that only the launches differ from the fused kernel.
    a = empty((n,), "f32")
    b = empty((n,), "f32")
    return [
        launch("unfused.py:multiply", grid, x, x, a, n, BLOCK=BLOCK),                              # x^2
        launch("unfused.py:multiply", grid, a, x, b, n, BLOCK=BLOCK),                              # x^3
        launch("unfused.py:scale_shift", grid, b, a, 0.044715, 0.0, n, BLOCK=BLOCK),               # 0.044715 x^3
        launch("unfused.py:add", grid, x, a, b, n, BLOCK=BLOCK),                                   # x + 0.044715 x^3
        launch("unfused.py:scale_shift", grid, b, a, 0.7978845608028654, 0.0, n, BLOCK=BLOCK),     # u
        launch("unfused.py:tanh", grid, a, b, n, BLOCK=BLOCK),                                     # tanh u
        launch("unfused.py:scale_shift", grid, b, a, 1.0, 1.0, n, BLOCK=BLOCK),                    # 1 + tanh u
        launch("unfused.py:multiply", grid, x, a, b, n, BLOCK=BLOCK),                              # x (1 + tanh u)
        launch("unfused.py:scale_shift", grid, b, y, 0.5, 0.0, n, BLOCK=BLOCK),
    ]


def backward_tanh(x, dy, dx, n, BLOCK, num_warps):
    return [launch("gelu_tanh_backward", (cdiv(n, BLOCK),), x, dy, dx, n, BLOCK=BLOCK, num_warps=num_warps)]


def backward_exact(x, dy, dx, n, BLOCK, num_warps):
    return [launch("gelu_erf_backward", (cdiv(n, BLOCK),), x, dy, dx, n, BLOCK=BLOCK, num_warps=num_warps)]


configs = [dict(BLOCK=b, num_warps=w) for b in (1024, 512, 4096) for w in (4, 8)]

tasks = dict(
    tanh=dict(variants=dict(fused=dict(run=fused_tanh, configs=configs), unfused=unfused),
              inputs=forward_inputs, outputs=forward_outputs, flops=lambda n: 9 * n,
              peers=dict(torch="torch.nn.functional.gelu(x, approximate='tanh')")),
    exact=dict(variants=dict(fused=dict(run=fused_exact, configs=configs)),
               inputs=forward_inputs, outputs=forward_outputs, flops=lambda n: 9 * n,
               peers=dict(torch="torch.nn.functional.gelu(x)")),
    tanh_backward=dict(variants=dict(fused=dict(run=backward_tanh, configs=configs)),
                       inputs=backward_inputs, outputs=backward_outputs, flops=lambda n: 16 * n,
                       peers=dict(torch="torch.ops.aten.gelu_backward(dy, x, approximate='tanh')")),
    exact_backward=dict(variants=dict(fused=dict(run=backward_exact, configs=configs)),
                        inputs=backward_inputs, outputs=backward_outputs, flops=lambda n: 16 * n,
                        peers=dict(torch="torch.ops.aten.gelu_backward(dy, x)")),
)

cases = [
    *[dict(n=n, dtype="f32") for n in (1, 1000, 4096, 5001)],
    *[dict(n=1000, dtype=d) for d in ("f16", "bf16")],
    dict(label="far tails", n=1000, dtype="f32", std=40),
    *[dict(n=100, dtype=d, special="x") for d in ("f32", "f16", "bf16")],
    dict(label="empty", n=0, dtype="f32"),
]
demo = [dict(check=True, n=1 << 20, dtype="f32")]
bench = [dict(n=1 << k, dtype="f32") for k in (16, 20, 24, 28)]


def tolerance(n, dtype):
    # Below zero 1 + tanh u and 1 + erf cancel: the bound there is absolute, a few units of 1 times
    # |x|, which stays below 8 where the result is not yet zero.
    return dict(rel=eps(dtype) / 2 + 8 * eps("f32"), abs=8 * 4 * eps("f32"))
