doc = "Dropout with a mask in memory, and with a seed in its place"


def forward_inputs(n, dtype, p=0.5, seed=123):
    return dict(x=randn((n,), dtype), p=p, seed=seed)


def forward_outputs(n, dtype):
    return dict(y=empty((n,), dtype))


def seeded(x, y, n, p, seed, BLOCK):
    return [launch("dropout_seeded", (cdiv(n, BLOCK),), x, y, n, p, seed, BLOCK=BLOCK)]


def four_words(x, y, n, p, seed, BLOCK):
    return [launch("dropout_four_words", (cdiv(n, 4 * BLOCK),), x, y, n, p, seed, BLOCK=BLOCK)]


def stored_mask(x, y, n, p, seed, BLOCK):
    mask = empty((n,), "i8")
    grid = (cdiv(n, BLOCK),)
    return [
        launch("draw_mask", grid, mask, n, p, seed, BLOCK=BLOCK),
        launch("dropout_stored", grid, x, mask, y, n, p, BLOCK=BLOCK),
    ]


def backward_inputs(n, dtype, p=0.5, seed=123):
    return dict(dy=randn((n,), dtype), p=p, seed=seed)


def backward_outputs(n, dtype):
    return dict(dx=empty((n,), dtype))


configs = [dict(BLOCK=b) for b in (1024, 512, 2048)]

tasks = dict(
    forward=dict(inputs=forward_inputs, outputs=forward_outputs, peers=dict(torch="torch.nn.functional.dropout(x, p)"),
                 variants=dict(seeded=dict(run=seeded, configs=configs), stored_mask=dict(run=stored_mask, configs=configs))),
    forward_four_words=dict(inputs=lambda n, dtype, p=0.5, seed=123: dict(**forward_inputs(n, dtype, p, seed), block=256),
                            outputs=forward_outputs, peers=dict(torch="torch.nn.functional.dropout(x, p)"),
                            variants=dict(seeded=lambda x, y, n, p, seed, block: four_words(x, y, n, p, seed, block))),
    backward=dict(gradient=dict(of="forward", given=dict(y="dy"), by=dict(dx="x")), inputs=backward_inputs, outputs=backward_outputs,
                  variants=dict(seeded=dict(run=lambda dy, dx, n, p, seed, BLOCK: seeded(dy, dx, n, p, seed, BLOCK), configs=configs)),
                  # With the mask that the forward pass left, whatever its input.
                  peers=dict(torch="backward(lambda x: F.dropout(x, p), (dy,), dy)")),
)

cases = [
    *[dict(n=n, dtype="f32") for n in (1, 1000, 5001)],
    *[dict(n=1000, dtype="f32", p=p) for p in (0.0, 0.125, 0.875)],  # exact in f32: kernel and reference then compare with the same p
    # Seeds: negative, and beyond 32 bits.
    *[dict(n=1000, dtype="f32", seed=s) for s in (-1, (1 << 40) + 7)],
    *[dict(n=1000, dtype=d) for d in ("f16", "bf16")],
    dict(label="empty", n=0, dtype="f32"),
]
demo = [dict(n=1 << 20, dtype="f32")]
bench = [dict(n=1 << k, dtype="f32") for k in (16, 20, 24, 28)]

# 1 - p in f32, one quotient and one rounding; 1 - p is at least 1/8, which costs eight units.
tolerance = lambda dtype: dict(rel=eps(dtype) / 2 + 12 * eps("f32"), abs=1e-38)
flops = lambda n: 2 * n
