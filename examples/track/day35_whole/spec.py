"""Day 35: the whole.

See:    forward and backward as one function with a gradient, as a framework wants it: what the forward pass saves (q, k, v, out, lse), what the backward pass
        returns. Here with everything at once: several heads that share keys, causal, dropout whose mask the backward pass draws again.
Run:    nereid test day35_whole
        nereid bench day35_whole
        (with PyTorch) python autograd.py          a torch.autograd.Function, checked against PyTorch's own attention
        (C++) autograd                               the same with a tape; ../exercises/CMakeLists.txt builds it
Change: save nothing but q, k and v, and run the forward pass again in the backward pass (recomputation). What does it cost, what does it save?
"""
doc = "Attention forward and backward with grouped heads, causal mask and dropout"
forward, backward = "../../../kernels/flash_attention/kernel.py", "../../../kernels/flash_attention/backward.py"


def inputs(H, KV, M, D, p):
    return dict(q=randn((1, H, M, D), "f32"), k=randn((1, KV, M, D), "f32"), v=randn((1, KV, M, D), "f32"), do=randn((1, H, M, D), "f32"), seed=77)


def outputs(H, KV, M, D):
    return dict(out=empty((1, H, M, D), "f32"), dq=empty((1, H, M, D), "f32"), dk=empty((1, KV, M, D), "f32"), dv=empty((1, KV, M, D), "f32"))


def whole(q, k, v, do, out, dq, dk, dv, H, KV, M, D, p, seed):
    lse, delta = empty((1, H, M), "f32"), empty((1, H, M), "f32")
    strides = [*q.strides[:3], *k.strides[:3], *v.strides[:3], 0, 0, 0, *out.strides[:3]]
    sizes = [H, H // KV, M, M, 1 / sqrt(D), p, seed]
    tiles = dict(D=D, BLOCK_D=max(next_power_of_2(D), 16), BLOCK_M=32, BLOCK_N=32, CAUSAL=True, DROPOUT=p > 0, PRECISION="ieee")
    return [
        launch(f"{forward}:flash_forward", (cdiv(M, 32), H), q, k, v, None, out, lse, *strides, *sizes, **tiles),
        launch(f"{backward}:row_delta", (cdiv(H * M, 64),), out, do, delta, H * M, D=D, BLOCK_D=tiles["BLOCK_D"], BLOCK_M=64),
        launch(f"{backward}:backward_dk_dv", (cdiv(M, 32), KV), q, k, v, None, do, lse, delta, dk, dv, 0, 0, 0, *sizes, **tiles),
        launch(f"{backward}:backward_dq", (cdiv(M, 32), H), q, k, v, None, do, lse, delta, dq, 0, 0, 0, *sizes, **tiles),
    ]


cases = [dict(H=4, KV=kv, M=m, D=32, p=p) for (kv, m, p) in ((4, 40, 0.0), (2, 70, 0.25), (1, 33, 0.5))]
bench = [dict(H=4, KV=4, M=512, D=64, p=0.0)]
variants = dict(whole=whole)
tolerance = lambda H, KV, M, p: dict(rel=32 * eps("f32"), abs=(64 + 8 * M * H // KV) * eps("f32") / (1 - p))
flops = lambda H, M, D: 14 * H * D * M * (M + 1) // 2
