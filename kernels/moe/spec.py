doc = "Mixture of experts: routing, the experts' order, permuting, the experts' products, combining"


def route_inputs(T, E, K, dtype, renormalise=True, ties=False):
    return dict(logits=randint((T, E), 0, 3, dtype) if ties else randn((T, E), dtype), renormalise=renormalise)


def route_outputs(T, K):
    return dict(weight=empty((T, K), "f32"), expert=empty((T, K), "i32"))


def routing(logits, weight, expert, T, E, K, renormalise, BLOCK_T):
    # A program holds its tokens' logits twice.
    BLOCK_T = min(BLOCK_T, max(2048 // next_power_of_2(E), 1))
    return launch("route", (cdiv(T, BLOCK_T),), logits, weight, expert, T, E, K=K, RENORMALISE=renormalise,
                  BLOCK_T=BLOCK_T, BLOCK_E=next_power_of_2(E), num_warps=4)


def top_k(logits, weight, expert, T, E, K, renormalise, BLOCK_T):
    return [routing(logits, weight, expert, T, E, K, renormalise, BLOCK_T)]


def assignments(T, E, K, skewed):
    """Distinct experts for each token; skewed leaves most experts without one."""
    chosen_of = max(K, E // 4) if skewed else E
    return [[(t * 7 + i) % chosen_of for i in range(K)] for t in range(T)]


def order_inputs(T, E, K, skewed=False):
    return dict(expert=values(assignments(T, E, K, skewed), "i32"))


def order_outputs(T, E, K):
    return dict(row=empty((T, K), "i32"), source=empty((T * K,), "i32"), offsets=empty((E + 1,), "i32"))


def ordering(expert, row, source, offsets, T, E, K, BLOCK):
    N = T * K
    lanes = next_power_of_2(E)
    # `place` holds a block's assignments against all experts.
    BLOCK = min(BLOCK, max(8192 // lanes, 16))
    counts = empty((cdiv(N, BLOCK), E), "i32")
    return [
        launch("count", (cdiv(N, BLOCK),), expert, counts, N, E, BLOCK=BLOCK, BLOCK_E=max(lanes, 2)),
        launch("start", (1,), counts, offsets, cdiv(N, BLOCK), E, BLOCK_B=32, BLOCK_E=lanes),
        launch("place", (cdiv(N, BLOCK),), expert, counts, row, source, N, E, BLOCK=BLOCK, BLOCK_E=lanes),
    ]


def counting(expert, row, source, offsets, T, E, K, BLOCK):
    return ordering(expert, row, source, offsets, T, E, K, BLOCK)


def permute_inputs(T, K, H, dtype):
    return dict(x=randn((T, H), dtype), source=permutation(T * K, "i32"))


def permute_outputs(T, K, H, dtype):
    return dict(y=empty((T * K, H), dtype))


def gather(x, source, y, T, K, H, BLOCK):
    return [launch("permute", (T * K, cdiv(H, BLOCK)), x, source, y, H, K=K, BLOCK=BLOCK)]


def inverse_pair(T, K):
    """An order and its inverse: steps of a prime that does not divide T K, and of the number that undoes it."""
    N = T * K
    step = [s for s in (7, 5, 3, 2, 1) if s == 1 or N % s != 0][0]
    back = [s for s in range(1, N + 1) if s * step % N == 1 % N][0]
    return [i * step % N for i in range(N)], [[(t * K + i) * back % N for i in range(K)] for t in range(T)]


def combine_inputs(T, K, H, dtype, weighed=True):
    source, rows = inverse_pair(T, K)
    return dict(y=randn((T * K, H), dtype), row=values(rows, "i32"), weight=rand((T, K), "f32") if weighed else None)


def combine_outputs(T, H, dtype):
    return dict(out=empty((T, H), dtype))


def weigh(y, row, weight, out, T, K, H, BLOCK):
    return [launch("combine", (T, cdiv(H, BLOCK)), y, row, weight, out, H, K=K, BLOCK=BLOCK)]


def combine_backward_inputs(T, K, H, dtype):
    source, rows = inverse_pair(T, K)
    return dict(dout=randn((T, H), dtype), y=randn((T * K, H), dtype), source=values(source, "i32"), row=values(rows, "i32"),
                weight=rand((T, K), "f32"))


def combine_backward_outputs(T, K, H, dtype):
    return dict(dy=empty((T * K, H), dtype), dweight=empty((T, K), "f32"))


def each_row(dout, y, source, weight, dy, dweight, T, K, H, BLOCK):
    return [launch("combine_backward", (T * K,), dout, y, source, weight, dy, dweight, H, K=K, BLOCK=BLOCK)]


def layer_inputs(T, E, K, H, N, dtype, renormalise=True):
    return dict(x=randn((T, H), dtype), logits=randn((T, E), "f32"), gate_up=randn((E, H, 2 * N), dtype, std=1 / sqrt(H)),
                down=randn((E, N, H), dtype, std=1 / sqrt(N)), renormalise=renormalise)


def fetched(x, logits, gate_up, down, out, T, E, K, H, N, renormalise, BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages):
    rows = T * K
    weight = empty((T, K), "f32")
    expert = empty((T, K), "i32")
    row = empty((T, K), "i32")
    source = empty((rows,), "i32")
    offsets = empty((E + 1,), "i32")
    inner = empty((rows, N), x.dtype)
    y = empty((rows, H), x.dtype)
    # Each expert wastes less than one tile, and no more experts than rows have any.
    tiles = rows // BLOCK_M + min(E, rows)
    same = dict(BLOCK_E=next_power_of_2(E), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, PRECISION="ieee" if x.dtype == "f32" else "tf32",
                num_warps=num_warps, num_stages=num_stages)
    return [
        routing(logits, weight, expert, T, E, K, renormalise, 32),
        *ordering(expert, row, source, offsets, T, E, K, 128),
        launch("experts.py:gate_and_up", (tiles, cdiv(N, BLOCK_N)), x, source, gate_up, inner, offsets, E, N, H, K=K, EVEN=H % BLOCK_K == 0, **same),
        launch("experts.py:down", (tiles, cdiv(H, BLOCK_N)), inner, down, y, offsets, E, N, H, EVEN=N % BLOCK_K == 0, **same),
        launch("combine", (T, cdiv(H, 1024)), y, row, weight, out, H, K=K, BLOCK=1024),
    ]


def layer_tolerance(dtype):
    # Two products with sums of order 1, rounded to dtype after each; weights add to 1 at most. The
    # second product averages the first one's roundings over N terms.
    return dict(rel=eps(dtype), abs=3 * eps(dtype) + 64 * eps("f32"))


def tile(m, n, k, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=warps, num_stages=stages)


# As a PyTorch program has it without a kernel for experts: one that is given groups of rows multiplies them.
torch_route = "top := torch.topk(torch.softmax(logits.float(), -1), K, -1), w := top.values / top.values.sum(-1, True) if renormalise else top.values"
torch_combine = "(y[row] * w[..., None]).sum(1).to(y.dtype)"
torch_layer = (f"({torch_route}, by := torch.sort(top.indices.flatten(), stable=True), "
               "ends := torch.searchsorted(by.values, torch.arange(E, device=x.device), right=True, out_int32=True), "
               "h := F.grouped_mm(x[by.indices // K], gate_up, offs=ends), y := F.grouped_mm(F.silu(h[:, :N]) * h[:, N:], down, offs=ends), "
               "torch.zeros_like(x, dtype=torch.float32).index_add_(0, by.indices // K, y * w.flatten()[by.indices][:, None]).to(x.dtype))[-1]")
blocks = [dict(BLOCK=b) for b in (1024, 2048, 512)]
tasks = dict(
    route=dict(
        inputs=route_inputs, outputs=route_outputs, variants=dict(top_k=dict(run=top_k, configs=[dict(BLOCK_T=t) for t in (32, 16, 64)])),
        tolerance=lambda: dict(weight=dict(rel=32 * eps("f32"), abs=0), expert=dict(rel=0, abs=0)),
        cases=[*[dict(T=t, E=e, K=k, dtype="f32", renormalise=r) for (t, e, k) in ((1, 1, 1), (33, 8, 2), (40, 60, 6)) for r in (True, False)],
               *[dict(T=20, E=16, K=4, dtype=d) for d in ("f16", "bf16")], dict(label="ties", T=20, E=16, K=4, dtype="f32", ties=True),
               dict(label="no tokens", T=0, E=8, K=2, dtype="f32")],
        demo=[dict(check=True, T=1024, E=64, K=6, dtype="f32")], bench=[dict(T=16384, E=e, K=k, dtype="f32") for (e, k) in ((8, 2), (64, 6), (256, 8))],
        peers=dict(torch=f"({torch_route}, top.indices)[1:]"),
    ),
    order=dict(
        inputs=order_inputs, outputs=order_outputs, variants=dict(counting=dict(run=counting, configs=[dict(BLOCK=b) for b in (128, 256, 64)])),
        tolerance=lambda: dict(rel=0, abs=0),
        cases=[*[dict(T=t, E=e, K=k) for (t, e, k) in ((1, 1, 1), (100, 8, 2), (90, 60, 4))], dict(label="few experts", T=70, E=32, K=4, skewed=True)],
        demo=[dict(check=True, T=512, E=8, K=2)], bench=[dict(T=16384, E=e, K=k) for (e, k) in ((8, 2), (64, 6), (256, 8))],
        peers=dict(torch="(by := torch.sort(expert.flatten(), stable=True), "
                         "torch.empty_like(by.indices).scatter_(0, by.indices, torch.arange(T * K, device=expert.device)).view(T, K), by.indices, "
                         "torch.searchsorted(by.values, torch.arange(E + 1, device=expert.device, dtype=by.values.dtype)))[1:]"),
    ),
    permute=dict(
        inputs=permute_inputs, outputs=permute_outputs, variants=dict(gather=dict(run=gather, configs=blocks)), tolerance=lambda: dict(rel=0, abs=0),
        cases=[dict(T=t, K=k, H=h, dtype=d) for (t, k, h, d) in ((1, 1, 1, "f32"), (20, 2, 1100, "f32"), (20, 3, 64, "f16"))],
        demo=[dict(check=True, T=512, K=2, H=1024, dtype="f32")], bench=[dict(T=16384, K=2, H=4096, dtype="bf16")],
        peers=dict(torch="x[source // K]"),
    ),
    combine=dict(
        inputs=combine_inputs, outputs=combine_outputs, variants=dict(gather=dict(run=weigh, configs=blocks)),
        tolerance=lambda K, dtype: dict(rel=eps(dtype) / 2, abs=4 * K * eps("f32") + (3e-8 if dtype == "f16" else 0)),
        cases=[*[dict(T=t, K=k, H=h, dtype=d) for (t, k, h, d) in ((1, 1, 1, "f32"), (20, 2, 1100, "f32"), (20, 4, 64, "f16"), (9, 6, 200, "bf16"))],
               dict(label="without weights", T=20, K=2, H=300, dtype="f32", weighed=False), dict(T=20, K=2, H=300, dtype="f32", special="y")],
        demo=[dict(check=True, T=64, K=2, H=1024, dtype="f32")], bench=[dict(T=512, K=2, H=16384, dtype="bf16")],
        peers=dict(torch=f"(w := weight, {torch_combine})[1] if weight is not None else unsupported('no weights')"),
    ),
    combine_backward=dict(
        gradient=dict(of="combine", given=dict(out="dout"), by=dict(dy="y", dweight="weight")),
        inputs=combine_backward_inputs, outputs=combine_backward_outputs, variants=dict(rows=dict(run=each_row, configs=blocks)),
        tolerance=lambda H, dtype: dict(dy=dict(rel=eps(dtype) / 2 + eps("f32"), abs=3e-8 if dtype == "f16" else 0), dweight=dict(rel=8 * eps("f32"), abs=(8 + H / 2) * eps("f32"))),
        cases=[dict(T=t, K=k, H=h, dtype=d) for (t, k, h, d) in ((1, 1, 1, "f32"), (20, 2, 1100, "f32"), (20, 4, 64, "f16"), (9, 6, 200, "bf16"))],
        demo=[dict(check=True, T=64, K=2, H=1024, dtype="f32")], bench=[dict(T=512, K=2, H=16384, dtype="bf16")],
        peers=dict(torch=f"backward(lambda y, w: {torch_combine}, (y, weight), dout)"),
    ),
    layer=dict(
        inputs=layer_inputs, outputs=combine_outputs, tolerance=layer_tolerance, flops=lambda T, K, H, N: 6 * T * K * H * N,
        variants=dict(fetched=dict(run=fetched, configs=[tile(64, 64, 32, 4, 3), tile(128, 128, 64, 8, 3), tile(64, 128, 64, 8, 3), tile(16, 128, 64, 4, 3)])),
        cases=[dict(T=1, E=4, K=2, H=16, N=16, dtype="f32"), dict(T=50, E=8, K=2, H=40, N=72, dtype="f32", renormalise=False),
               *[dict(T=50, E=8, K=2, H=64, N=96, dtype=d) for d in ("f16", "bf16")], dict(label="no tokens", T=0, E=4, K=2, H=16, N=16, dtype="f32")],
        demo=[dict(check=True, T=256, E=8, K=2, H=256, N=256, dtype="f32")],
        bench=[dict(T=t, E=8, K=2, H=4096, N=14336, dtype="bf16") for t in (8192, 64)] + [dict(T=8192, E=64, K=6, H=2048, N=1408, dtype="bf16")],
        peers=dict(torch=torch_layer),
    ),
)
