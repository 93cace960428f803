"""Exercise 19: KV cache, decoding token by token.

See:    a new token needs the keys and values of all before it, which do not change: keep them. Pages, so that no sequence needs its memory in one piece; grouped
        heads (GQA), so that the cache is read once for several query heads. The C++ program decodes in a loop, and captures one step as a graph: the position
        lives in device memory, so the same graph serves every step.
Run:    nereid test ex_19_kv_cache
        nereid bench ex_19_kv_cache --match small
        (on a GPU) nereid bench ../../kernels/paged_attention
        (C++) decode                           the loop and the graph, both against attention by the formula
Change: KV from 8 to 1 heads (MQA): the cache shrinks eightfold, and with it the time of a long sequence.
"""
doc = "One decoded token: append to the pages, attend to them"
library = "../../../kernels/paged_attention/kernel.py"


def inputs(length, H, KV, D, PAGE, dtype):
    pages = cdiv(length, PAGE)
    # The cache holds all tokens but the newest, in pages of a scattered order; its place is still free.
    return dict(q=randn((1, H, D), dtype), k=randn((1, KV, D), dtype), v=randn((1, KV, D), dtype),
                k_old=randn((pages, PAGE, KV, D), dtype), v_old=randn((pages, PAGE, KV, D), dtype),
                table=values([[(7919 * i + 3) % pages if pages % 7919 else i for i in range(pages)]], "i32"), lengths=values([length], "i32"))


def outputs(length, H, KV, D, PAGE, dtype):
    pages = cdiv(length, PAGE)
    return dict(out=empty((1, H, D), dtype), k_cache=empty((pages, PAGE, KV, D), dtype), v_cache=empty((pages, PAGE, KV, D), dtype))


def step(q, k, v, k_old, v_old, table, lengths, out, k_cache, v_cache, length, H, KV, D, PAGE):
    n = k_old.numel()
    row = KV * D
    attend = dict(D=D, BLOCK_D=max(next_power_of_2(D), 16), BLOCK_G=max(next_power_of_2(H // KV), 16), PAGE=PAGE, BLOCK_N=32,
                  PRECISION="ieee" if q.dtype == "f32" else "tf32")
    return [
        launch("copy", (cdiv(n, 1024),), k_old, k_cache, n, BLOCK=1024),
        launch("copy", (cdiv(n, 1024),), v_old, v_cache, n, BLOCK=1024),
        launch(f"{library}:append", (1, cdiv(row, 512)), k, v, k_cache, v_cache, table, lengths, row, k_cache.stride(0), table.stride(0),
               k.stride(0), v.stride(0), PAGE=PAGE, BLOCK=512),
        launch(f"{library}:decode", (1, KV), q, k_cache, v_cache, table, lengths, out, KV, H // KV, 1 / sqrt(D), k_cache.stride(0), table.stride(0),
               q.stride(0), **attend),
    ]


cases = [dict(length=n, H=8, KV=kv, D=32, PAGE=16, dtype="f32") for n in (1, 16, 17, 100) for kv in (8, 2, 1)] + [dict(length=70, H=8, KV=2, D=64, PAGE=16, dtype="f16")]
bench = [dict(label=f"small KV={kv}", length=2048, H=8, KV=kv, D=64, PAGE=16, dtype="f32") for kv in (8, 1)]
variants = dict(step=step)
tolerance = lambda dtype: dict(out=dict(rel=eps(dtype), abs=2 * eps(dtype) + 128 * eps("f32")), k_cache=dict(rel=0, abs=0), v_cache=dict(rel=0, abs=0))
flops = lambda length, H, D: 4 * length * H * D
