doc = "Rotary position embedding in the half and the interleaved form, whole or partial, forward and backward"


def tables(S, D, dtype, rotary=None, gather=False, B=1, interleaved=False):
    # The tables may hold more positions than a batch has tokens: a decoder reads far rows of them.
    pairs = (D if rotary == None else rotary) // 2
    length = 3 * S + 1 if gather else S
    return dict(cos=rand((length, pairs), dtype, low=-1), sin=rand((length, pairs), dtype, low=-1),
                positions=randint((B, S), 0, length, "i32") if gather else None, interleaved=interleaved)


def place(B, S, H, D, packed):
    # Packed: [batch, token, head, D], as a projection leaves it; else heads lie before tokens.
    return dict() if packed else dict(strides=(S * H * D, D, S * D, 1))


def forward_inputs(B, S, H, D, dtype, rotary=None, gather=False, interleaved=False, packed=True):
    return dict(x=randn((B, S, H, D), dtype, **place(B, S, H, D, packed)), **tables(S, D, dtype, rotary, gather, B, interleaved))


def forward_outputs(x, dtype):
    return dict(y=empty(x.shape, dtype))


def turn(x, y, cos, sin, positions, interleaved, backward, BLOCK_H, num_warps):
    B, S, H, D = x.shape
    pairs = cos.shape[1]
    height = min(BLOCK_H, next_power_of_2(H))
    return [launch("rope", (B * S, cdiv(H, height)), x, y, cos, sin, positions, S, H, *x.strides[:3], *y.strides[:3],
                   D=D, ROTARY=2 * pairs, BLOCK_P=next_power_of_2(pairs), BLOCK_H=height,
                   INTERLEAVED=interleaved, BACKWARD=backward, num_warps=num_warps)]


def heads(x, y, cos, sin, positions, interleaved, BLOCK_H, num_warps):
    return turn(x, y, cos, sin, positions, interleaved, False, BLOCK_H, num_warps)


def backward_inputs(B, S, H, D, dtype, rotary=None, gather=False, interleaved=False, packed=True):
    return dict(dy=randn((B, S, H, D), dtype, **place(B, S, H, D, packed)), **tables(S, D, dtype, rotary, gather, B, interleaved))


def backward_outputs(dy, dtype):
    return dict(dx=empty(dy.shape, dtype))


def heads_backward(dy, dx, cos, sin, positions, interleaved, BLOCK_H, num_warps):
    return turn(dy, dx, cos, sin, positions, interleaved, True, BLOCK_H, num_warps)


def tolerance(dtype):
    # Two products of order 1 that may cancel, in f32; then one rounding to dtype.
    return dict(rel=eps(dtype) / 2, abs=8 * eps("f32") + (3e-8 if dtype == "f16" else 0))


configs = [dict(BLOCK_H=h, num_warps=w) for (h, w) in ((32, 4), (16, 2), (8, 1), (64, 8), (4, 1))]
cases = [
    *[dict(B=b, S=s, H=h, D=d, dtype="f32", interleaved=i) for i in (False, True) for (b, s, h, d) in ((1, 1, 1, 2), (2, 5, 3, 64), (1, 7, 33, 80))],
    *[dict(B=2, S=5, H=4, D=64, dtype=t, interleaved=i) for t in ("f16", "bf16") for i in (False, True)],
    *[dict(label=f"partial, interleaved {i}", B=1, S=6, H=4, D=80, dtype="f32", rotary=32, interleaved=i) for i in (False, True)],
    dict(label="positions", B=2, S=6, H=4, D=32, dtype="f32", gather=True),
    dict(label="heads before tokens", B=2, S=6, H=4, D=32, dtype="f32", packed=False),
    dict(label="no tokens", B=2, S=0, H=4, D=32, dtype="f32"),
    *[dict(B=2, S=6, H=4, D=64, dtype=t, interleaved=i, special="x") for t in ("f32", "f16") for i in (False, True)],
]

tasks = dict(
    forward=dict(inputs=forward_inputs, outputs=forward_outputs, variants=dict(heads=dict(run=heads, configs=configs)),
                 peers=dict(torch="torch.cat((x[..., :x.shape[-1] // 2] * cos[:, None] - x[..., x.shape[-1] // 2:] * sin[:, None], "
                                  "x[..., x.shape[-1] // 2:] * cos[:, None] + x[..., :x.shape[-1] // 2] * sin[:, None]), -1)")),
    backward=dict(inputs=backward_inputs, outputs=backward_outputs, variants=dict(heads=dict(run=heads_backward, configs=configs)),
                  cases=[c for c in cases if "special" not in c]),
)
flops = lambda B, S, H, D: 3 * B * S * H * D
demo = [dict(check=True, B=1, S=512, H=8, D=64, dtype="f32")]
bench = [dict(B=4, S=4096, H=h, D=128, dtype="bf16", interleaved=i) for h in (32, 8) for i in (False, True)]
