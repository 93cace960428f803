doc = "Decode attention over a paged KV cache, with grouped heads"


def count_pages(tokens, PAGE):
    return sum([cdiv(n, PAGE) for n in tokens])


def block_table(tokens, PAGE):
    # Steps of a large prime scatter each sequence's pages over the cache. Where a row of the table
    # ends it names a page that no sequence owns, so that reading it would show.
    total = count_pages(tokens, PAGE)
    width = max(1, cdiv(max(tokens), PAGE))
    before = [count_pages(tokens[:b], PAGE) for b in range(len(tokens))]
    return [[(before[b] + i) * 7919 % total if i < cdiv(tokens[b], PAGE) else total for i in range(width)] for b in range(len(tokens))]


def decode_inputs(tokens, H, KV, D, PAGE, dtype):
    cache = (count_pages(tokens, PAGE) + 1, PAGE, KV, D)
    return dict(q=randn((len(tokens), H, D), dtype), k_cache=randn(cache, dtype), v_cache=randn(cache, dtype),
                table=values(block_table(tokens, PAGE), "i32"), lengths=values(tokens, "i32"), scale=1 / sqrt(D))


def decode_outputs(q, dtype):
    return dict(out=empty(q.shape, dtype))


def shape_of(q, k_cache, BLOCK_N):
    H, D = q.shape[1], q.shape[2]
    PAGE, KV = k_cache.shape[1], k_cache.shape[2]
    return dict(D=D, BLOCK_D=max(next_power_of_2(D), 16), BLOCK_G=max(next_power_of_2(H // KV), 16), PAGE=PAGE, BLOCK_N=BLOCK_N,
                PRECISION="ieee" if q.dtype == "f32" else "tf32")


def one_pass(q, k_cache, v_cache, table, lengths, out, scale, BLOCK_N, num_warps):
    B, H, D = q.shape
    KV = k_cache.shape[2]
    return [launch("decode", (B, KV), q, k_cache, v_cache, table, lengths, out, KV, H // KV, scale,
                   k_cache.stride(0), table.stride(0), **shape_of(q, k_cache, BLOCK_N), num_warps=num_warps)]


def split_kv(q, k_cache, v_cache, table, lengths, out, scale, BLOCK_N, SPLITS, num_warps):
    B, H, D = q.shape
    PAGE, KV = k_cache.shape[1], k_cache.shape[2]
    # The table's width bounds the lengths, which only the device knows.
    tokens = cdiv(cdiv(table.shape[1] * PAGE, SPLITS), BLOCK_N) * BLOCK_N
    splits = cdiv(table.shape[1] * PAGE, tokens)
    part = empty((B, H, splits, D), "f32")
    m = empty((B, H, splits), "f32")
    l = empty((B, H, splits), "f32")
    sizes = shape_of(q, k_cache, BLOCK_N)
    return [
        launch("decode_split", (B, KV, splits), q, k_cache, v_cache, table, lengths, part, m, l, KV, H // KV, scale,
               k_cache.stride(0), table.stride(0), tokens, **sizes, num_warps=num_warps),
        launch("join_splits", (B, H), part, m, l, lengths, out, H, splits, tokens,
               D=D, BLOCK_D=sizes["BLOCK_D"], BLOCK_S=next_power_of_2(splits)),
    ]


def decode_bytes(q, k_cache, out):
    return q.nbytes + 2 * k_cache.nbytes + out.nbytes


def append_inputs(tokens, KV, D, PAGE, dtype):
    return dict(k=randn((len(tokens), KV, D), dtype), v=randn((len(tokens), KV, D), dtype),
                table=values(block_table(tokens, PAGE), "i32"), lengths=values(tokens, "i32"), pages=count_pages(tokens, PAGE) + 1)


def append_outputs(pages, KV, D, PAGE, dtype):
    return dict(k_cache=empty((pages, PAGE, KV, D), dtype), v_cache=empty((pages, PAGE, KV, D), dtype))


def append_token(k, v, k_cache, v_cache, table, lengths):
    row = k.shape[1] * k.shape[2]
    return [launch("append", (k.shape[0], cdiv(row, 512)), k, v, k_cache, v_cache, table, lengths, row,
                   k_cache.stride(0), table.stride(0), PAGE=k_cache.shape[1], BLOCK=512)]


configs = [dict(BLOCK_N=n, num_warps=w) for n in (64, 32, 128) for w in (4, 2)]

tasks = dict(
    decode=dict(
        inputs=decode_inputs, outputs=decode_outputs,
        variants=dict(
            one_pass=dict(run=one_pass, configs=configs, bytes=decode_bytes),
            split_kv=dict(run=split_kv, configs=[dict(BLOCK_N=n, SPLITS=s, num_warps=4) for s in (8, 4, 16, 32) for n in (32, 64)]),
        ),
        cases=[
            *[dict(label=f"{t} page {page}", tokens=[1, 37, 200, 0, 16], H=8, KV=2, D=64, PAGE=page, dtype=t) for t in ("f32", "f16", "bf16") for page in (16, 32)],
            *[dict(label=f"D {d}", tokens=[33, 90], H=4, KV=4, D=d, PAGE=16, dtype="f32") for d in (16, 40, 80, 128)],
            *[dict(label=f"heads {h} over {kv}", tokens=[65], H=h, KV=kv, D=32, PAGE=16, dtype="f32") for (h, kv) in ((1, 1), (8, 1), (6, 2), (32, 1))],
            dict(label="page of 1 token", tokens=[5, 9], H=4, KV=2, D=32, PAGE=1, dtype="f32"),
        ],
        tolerance=lambda dtype: dict(rel=eps(dtype), abs=2 * eps(dtype) + 128 * eps("f32")),
        flops=lambda H, D, tokens: 4 * H * D * sum(tokens),
        demo=[dict(label="4 sequences of 1000", tokens=[1000] * 4, H=8, KV=2, D=64, PAGE=16, dtype="f32")],
        bench=[dict(label=f"{b} sequences of {n}", tokens=[n] * b, H=32, KV=8, D=128, PAGE=16, dtype="f16")
               for (b, n) in ((1, 4096), (1, 32768), (16, 4096), (64, 4096))],
    ),
    append=dict(
        inputs=append_inputs, outputs=append_outputs,
        variants=dict(scatter=append_token),
        cases=[dict(tokens=[1, 37, 16, 17], KV=kv, D=d, PAGE=16, dtype=t) for (kv, d) in ((2, 64), (3, 40)) for t in ("f32", "f16", "bf16")],
        tolerance=lambda dtype: dict(rel=0, abs=0),
    ),
)
