doc = "Attention over a paged KV cache with grouped heads: decode, prompts in chunks, shared prefixes, int8 and fp8, and the cache's writing"


def count_pages(tokens, PAGE):
    return sum([cdiv(n, PAGE) for n in tokens])


def block_table(tokens, PAGE):
    # Steps of a large prime scatter each sequence's pages over the cache. Where a row of the table
    # ends it names a page that no sequence owns, so that reading it would show.
    total = count_pages(tokens, PAGE)
    width = max(1, cdiv(max(tokens), PAGE))
    before = [count_pages(tokens[:b], PAGE) for b in range(len(tokens))]
    return [[(before[b] + i) * 7919 % total if i < cdiv(tokens[b], PAGE) else total for i in range(width)] for b in range(len(tokens))]


def caches(pages, KV, D, PAGE, dtype, cache):
    """A cache of `cache`'s type; one of 8 bits has scales with which its elements have a deviation of about 1."""
    kind = dtype if cache == None else cache
    shape = (pages, PAGE, KV, D)
    draw = lambda: randint(shape, -127, 128, "i8") if kind == "i8" else randn(shape, kind)
    unit = 1 / 73 if kind == "i8" else 1
    scales = lambda: rand((pages, PAGE, KV), "f32", low=0.5 * unit, high=1.5 * unit) if sizeof(kind) == 1 else None
    return dict(k_cache=draw(), v_cache=draw(), k_scale=scales(), v_scale=scales())


def heads(rows, H, D, dtype, gap=0):
    """As a part of wider rows, [q | k | v], where there is a gap behind each."""
    return randn((rows, H, D), dtype, strides=(H * D + gap, D, 1))


def decode_inputs(tokens, H, KV, D, PAGE, dtype, cache=None, gap=0):
    return dict(q=heads(len(tokens), H, D, dtype, gap), **caches(count_pages(tokens, PAGE) + 1, KV, D, PAGE, dtype, cache),
                table=values(block_table(tokens, PAGE), "i32"), lengths=values(tokens, "i32"), scale=1 / sqrt(D))


def decode_outputs(q, dtype):
    return dict(out=empty(q.shape, dtype))


def shape_of(q, k_cache, BLOCK_N):
    H, D = q.shape[1], q.shape[2]
    PAGE, KV = k_cache.shape[1], k_cache.shape[2]
    return dict(D=D, BLOCK_D=max(next_power_of_2(D), 16), BLOCK_G=max(next_power_of_2(H // KV), 16), PAGE=PAGE, BLOCK_N=BLOCK_N,
                PRECISION="ieee" if q.dtype == "f32" else "tf32")


def one_pass(q, k_cache, v_cache, k_scale, v_scale, table, lengths, out, scale, BLOCK_N, num_warps, num_stages=3):
    B, H, D = q.shape
    KV = k_cache.shape[2]
    return [launch("decode", (B, KV), q, k_cache, v_cache, table, lengths, out, KV, H // KV, scale,
                   k_cache.stride(0), table.stride(0), q.stride(0), **shape_of(q, k_cache, BLOCK_N), k_scale_ptr=k_scale, v_scale_ptr=v_scale,
                   num_warps=num_warps, num_stages=num_stages)]


def split_kv(q, k_cache, v_cache, k_scale, v_scale, table, lengths, out, scale, BLOCK_N, SPLITS, num_warps, num_stages=3):
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
               k_cache.stride(0), table.stride(0), q.stride(0), tokens, **sizes, k_scale_ptr=k_scale, v_scale_ptr=v_scale, num_warps=num_warps, num_stages=num_stages),
        launch("join_splits", (B, H), part, m, l, lengths, out, H, splits, tokens,
               D=D, BLOCK_D=sizes["BLOCK_D"], BLOCK_S=next_power_of_2(splits)),
    ]


def split_kv_joined(q, k_cache, v_cache, k_scale, v_scale, table, lengths, out, scale, BLOCK_N, SPLITS, num_warps, num_stages=3):
    B, H, D = q.shape
    PAGE, KV = k_cache.shape[1], k_cache.shape[2]
    tokens = cdiv(cdiv(table.shape[1] * PAGE, SPLITS), BLOCK_N) * BLOCK_N
    splits = cdiv(table.shape[1] * PAGE, tokens)
    sizes = shape_of(q, k_cache, BLOCK_N)
    group = next_power_of_2(H // KV)
    return [launch("decode_joined", (B, KV, splits), q, k_cache, v_cache, table, lengths, out, empty((B, H, splits, D), "f32"),
                   empty((B, H, splits), "f32"), empty((B, H, splits), "f32"), zeros((B, KV), "i32"), KV, H // KV, scale,
                   k_cache.stride(0), table.stride(0), q.stride(0), tokens, **sizes, JOIN_G=group,
                   JOIN_S=min(next_power_of_2(splits), max(1, 2048 * num_warps // (group * sizes["BLOCK_D"]))),
                   k_scale_ptr=k_scale, v_scale_ptr=v_scale, num_warps=num_warps, num_stages=num_stages)]


def decode_bytes(q, k_cache, out):
    # What the answer needs; parts are a way to it.
    return q.nbytes + 2 * k_cache.nbytes + out.nbytes


def append_inputs(tokens, KV, D, PAGE, dtype, gap=0):
    return dict(k=heads(len(tokens), KV, D, dtype, gap), v=heads(len(tokens), KV, D, dtype, 2 * gap),
                table=values(block_table(tokens, PAGE), "i32"), lengths=values(tokens, "i32"), pages=count_pages(tokens, PAGE) + 1)


def append_outputs(pages, KV, D, PAGE, dtype):
    return dict(k_cache=empty((pages, PAGE, KV, D), dtype), v_cache=empty((pages, PAGE, KV, D), dtype))


def append_token(k, v, k_cache, v_cache, table, lengths):
    row = k.shape[1] * k.shape[2]
    return [launch("append", (k.shape[0], cdiv(row, 512)), k, v, k_cache, v_cache, table, lengths, row,
                   k_cache.stride(0), table.stride(0), k.stride(0), v.stride(0), PAGE=k_cache.shape[1], BLOCK=512)]


def slots_inputs(places, KV, D, PAGE, dtype, cache=None, flat=False, gap=0):
    T = len(places)
    k = zeros((T, KV, D), dtype) if flat else heads(T, KV, D, dtype, gap)
    return dict(k=k, v=heads(T, KV, D, dtype, 2 * gap), slots=values(places, "i32"), quantised=cache != None)


def slots_outputs(places, KV, D, PAGE, dtype, cache=None):
    kind = dtype if cache == None else cache
    shape = ((max(places) + PAGE) // PAGE, PAGE, KV, D)
    T = len(places)
    # The cache's elements may differ in a last bit where one lies between two numbers of 8 bits, so
    # what is compared is what they stand for.
    return dict(k_kept=empty((T, KV, D), "f32"), v_kept=empty((T, KV, D), "f32"), k_cache=empty(shape, kind), v_cache=empty(shape, kind))


def store_slots(k, v, slots, k_cache, v_cache, k_kept, v_kept, quantised, PAGE, KV, D):
    T = k.shape[0]
    k_scale = empty(k_cache.shape[:3], "f32") if quantised else None
    v_scale = empty(k_cache.shape[:3], "f32") if quantised else None
    largest = 127.0 if k_cache.dtype == "i8" else 448.0
    place = dict(PAGE=PAGE, D=D, BLOCK_D=next_power_of_2(D), num_warps=1)
    return [
        launch("store.py:store_tokens", (T, KV), k, v, k_cache, v_cache, slots, k_scale, v_scale, KV, k_cache.stride(0), k.stride(0), v.stride(0), LARGEST=largest, **place),
        launch("store.py:restore_tokens", (T, KV), k_cache, k_scale, slots, k_kept, KV, k_cache.stride(0), **place),
        launch("store.py:restore_tokens", (T, KV), v_cache, v_scale, slots, v_kept, KV, v_cache.stride(0), **place),
    ]


def slots_tolerance(dtype, cache=None):
    # Half a step of 8 bits: of a row's largest over 127, which is below 5 here, or of the number's
    # size in fp8, whose subnormals have steps of 2^-9 of a scale.
    if cache == None:
        return dict(rel=0, abs=0)
    return dict(rel=0, abs=0.501 * 5 / 127) if cache == "i8" else dict(rel=0.501 * eps(cache), abs=2**-10 * 5 / 448)


def prefill_inputs(tokens, queries, H, KV, D, PAGE, dtype, cache=None, gap=0):
    """The last `queries` of each sequence's tokens are new; the cache holds all of them."""
    starts = [sum(queries[:b]) for b in range(len(queries) + 1)]
    return dict(q=heads(sum(queries), H, D, dtype, gap), **caches(count_pages(tokens, PAGE) + 1, KV, D, PAGE, dtype, cache),
                table=values(block_table(tokens, PAGE), "i32"), cu_q=values(starts, "i32"), lengths=values(tokens, "i32"), scale=1 / sqrt(D))


def chunks(q, k_cache, v_cache, k_scale, v_scale, table, cu_q, lengths, out, scale, queries, BLOCK_M, BLOCK_N, num_warps, num_stages):
    T, H, D = q.shape
    PAGE, KV = k_cache.shape[1], k_cache.shape[2]
    return [launch("prefill.py:prefill", (cdiv(max(queries) * (H // KV), BLOCK_M), len(queries), KV), q, k_cache, v_cache, table, cu_q, lengths,
                   out, k_scale, v_scale, KV, H // KV, scale, k_cache.stride(0), table.stride(0), q.stride(0), D=D, BLOCK_D=max(next_power_of_2(D), 16),
                   BLOCK_M=BLOCK_M, PAGE=PAGE, BLOCK_N=BLOCK_N, PRECISION="ieee" if q.dtype == "f32" else "tf32",
                   num_warps=num_warps, num_stages=num_stages)]


def prefill_flops(H, D, tokens, queries):
    return 4 * H * D * sum([m * n - m * (m - 1) // 2 for (m, n) in zip(queries, tokens)])


def prefix_inputs(prefix, tokens, H, KV, D, PAGE, dtype, cache=None, gap=0):
    """`tokens` follow a prefix of whole pages, which lie before those of the table."""
    pages = prefix // PAGE
    rest = [[pages + page for page in row] for row in block_table(tokens, PAGE)]
    return dict(q=heads(len(tokens), H, D, dtype, gap), **caches(pages + count_pages(tokens, PAGE) + 1, KV, D, PAGE, dtype, cache),
                prefix_pages=values([pages - 1 - i for i in range(pages)], "i32"), table=values(rest, "i32"), lengths=values(tokens, "i32"),
                scale=1 / sqrt(D))


def prefix_once(q, k_cache, v_cache, k_scale, v_scale, prefix_pages, table, lengths, out, scale, prefix, BLOCK_R, BLOCK_N, SPLIT_TOKENS, num_warps):
    B, H, D = q.shape
    PAGE, KV = k_cache.shape[1], k_cache.shape[2]
    shared = cdiv(prefix, SPLIT_TOKENS)
    parts = shared + cdiv(table.shape[1] * PAGE, SPLIT_TOKENS)
    part = empty((B, H, parts, D), "f32")
    m = empty((B, H, parts), "f32")
    l = empty((B, H, parts), "f32")
    sizes = shape_of(q, k_cache, BLOCK_N)
    same = dict(D=D, BLOCK_D=sizes["BLOCK_D"], PAGE=PAGE, BLOCK_N=BLOCK_N, PRECISION=sizes["PRECISION"],
                k_scale_ptr=k_scale, v_scale_ptr=v_scale, num_warps=num_warps)
    return [
        launch("prefix.py:attend_prefix", (cdiv(B * (H // KV), BLOCK_R), KV, shared), q, k_cache, v_cache, prefix_pages, part, m, l,
               B, KV, H // KV, prefix, SPLIT_TOKENS, parts, scale, k_cache.stride(0), q.stride(0), BLOCK_R=BLOCK_R, **same),
        launch("prefix.py:attend_rest", (B, KV, parts - shared), q, k_cache, v_cache, table, lengths, part, m, l,
               KV, H // KV, SPLIT_TOKENS, shared, parts, scale, k_cache.stride(0), table.stride(0), q.stride(0), BLOCK_G=sizes["BLOCK_G"], **same),
        launch("prefix.py:join_parts", (B * H,), part, m, l, out, parts, D=D, BLOCK_D=sizes["BLOCK_D"], BLOCK_S=next_power_of_2(parts)),
    ]


def attention_tolerance(dtype):
    # As flash attention's: the weights are rounded to dtype before they meet the values.
    return dict(rel=eps(dtype), abs=2 * eps(dtype) + 128 * eps("f32"))


# PyTorch's attention has no pages: it gathers them into keys and values that lie in one piece, each time.
def gathered(cache, sequences="[:, :tokens[0]]"):
    return f"{cache}[table.long()].flatten(1, 2){sequences}"


def behind_prefix(cache):
    shared = f"{cache}[prefix_pages.long()].flatten(0, 1)[None].expand(len(tokens), -1, -1, -1)"
    return f"torch.cat(({shared}, {gathered(cache)}), 1)"


def torch_decode(keys, values):
    return (f"F.scaled_dot_product_attention(q[:, :, None], {keys}.transpose(1, 2), {values}.transpose(1, 2), scale=scale, enable_gqa=True)[:, :, 0] "
            "if len(set(tokens)) == 1 and k_scale is None else unsupported('sequences of different lengths, or a cache of 8 bits')")


torch_prefill = (f"F.scaled_dot_product_attention(q.transpose(0, 1)[None], {gathered('k_cache')}.transpose(1, 2), {gathered('v_cache')}.transpose(1, 2), "
                 "attn_mask=torch.nn.attention.bias.causal_lower_right(queries[0], tokens[0]), scale=scale, enable_gqa=True)[0].transpose(0, 1) "
                 "if len(tokens) == 1 and k_scale is None else unsupported('several sequences, or a cache of 8 bits')")
configs = [dict(BLOCK_N=n, num_warps=w) for (n, w) in ((64, 4), (64, 2), (32, 4), (32, 2), (128, 4), (128, 2), (128, 8))]

tasks = dict(
    decode=dict(
        inputs=decode_inputs, outputs=decode_outputs,
        variants=dict(
            one_pass=dict(run=one_pass, configs=configs, bytes=decode_bytes),
            split_kv=dict(run=split_kv, bytes=decode_bytes, configs=[dict(BLOCK_N=n, SPLITS=s, num_warps=w) for (n, s, w) in (
                (32, 8, 4), (32, 4, 4), (64, 4, 4), (32, 16, 4), (32, 32, 4), (32, 64, 4), (64, 64, 2), (32, 64, 2), (128, 16, 8), (128, 4, 8))]),
            split_kv_joined=dict(run=split_kv_joined, bytes=decode_bytes, configs=[dict(BLOCK_N=n, SPLITS=s, num_warps=w) for (n, s, w) in (
                (64, 4, 4), (128, 16, 8), (128, 4, 8), (128, 8, 8), (128, 1, 8), (64, 16, 4), (64, 32, 4), (64, 8, 4), (128, 16, 4), (32, 32, 4), (64, 64, 4))]
                + [dict(BLOCK_N=n, SPLITS=s, num_warps=w, num_stages=2) for (n, s, w) in ((128, 16, 4), (64, 32, 4), (64, 8, 4), (32, 16, 4), (128, 4, 4))]),
        ),
        cases=[
            *[dict(label=f"{t} page {page}", tokens=[1, 37, 200, 0, 16], H=8, KV=2, D=64, PAGE=page, dtype=t) for t in ("f32", "f16", "bf16") for page in (16, 32)],
            *[dict(label=f"D {d}", tokens=[33, 90], H=4, KV=4, D=d, PAGE=16, dtype="f32") for d in (16, 40, 80, 128)],
            *[dict(label=f"heads {h} over {kv}", tokens=[65], H=h, KV=kv, D=32, PAGE=16, dtype="f32") for (h, kv) in ((1, 1), (8, 1), (6, 2), (32, 1))],
            *[dict(label=f"special {x}, {t}", tokens=[5, 90], H=8, KV=2, D=32, PAGE=16, dtype=t, special=x)
              for t in ("f32", "f16") for x in ("q", "k_cache", "v_cache")],
            *[dict(label=f"special {x}", tokens=[5, 90], H=8, KV=2, D=32, PAGE=16, dtype="f16", cache="f8e4nv", special=x)
              for x in ("k_cache", "v_cache", "v_scale")],
            dict(label="queries apart", tokens=[5, 90], H=8, KV=2, D=32, PAGE=16, dtype="f16", gap=40),
            dict(label="page of 1 token", tokens=[5, 9], H=4, KV=2, D=32, PAGE=1, dtype="f32"),
            *[dict(label=f"{t} with a cache of {c}", tokens=[1, 37, 100, 0], H=8, KV=2, D=64, PAGE=16, dtype=t, cache=c)
              for (t, c) in (("f32", "i8"), ("f16", "i8"), ("f16", "f8e4nv"), ("bf16", "f8e4nv"), ("f16", "f8e5"))],
        ],
        tolerance=attention_tolerance,
        flops=lambda H, D, tokens: 4 * H * D * sum(tokens),
        peers=dict(torch=torch_decode(gathered("k_cache"), gathered("v_cache"))),
        demo=[dict(label="4 sequences of 1000", tokens=[1000] * 4, H=8, KV=2, D=64, PAGE=16, dtype="f32")],
        bench=[
            *[dict(label=f"{b} sequences of {n}", tokens=[n] * b, H=32, KV=8, D=128, PAGE=16, dtype="f16")
              for (b, n) in ((1, 4096), (1, 16384), (1, 32768), (4, 4096), (16, 4096), (64, 4096))],
            *[dict(label=f"64 sequences of 4096, {c}", tokens=[4096] * 64, H=32, KV=8, D=128, PAGE=16, dtype="f16", cache=c) for c in ("i8", "f8e4nv")],
        ],
    ),
    append=dict(
        inputs=append_inputs, outputs=append_outputs,
        variants=dict(scatter=append_token),
        cases=[*[dict(tokens=[1, 37, 16, 17], KV=kv, D=d, PAGE=16, dtype=t) for (kv, d) in ((2, 64), (3, 40)) for t in ("f32", "f16", "bf16")],
               dict(label="tokens apart", tokens=[1, 37], KV=2, D=40, PAGE=16, dtype="f16", gap=24),
               dict(tokens=[1, 37], KV=2, D=64, PAGE=16, dtype="f16", special="k")],
        tolerance=lambda dtype: dict(rel=0, abs=0),
    ),
    store=dict(
        inputs=slots_inputs, outputs=slots_outputs, tolerance=slots_tolerance,
        variants=dict(slots=store_slots),
        cases=[
            # Tokens of one sequence and of several, in any order; below 0 is a token that is padding.
            *[dict(places=[5, 17, -1, 40, 4, 0], KV=2, D=d, PAGE=16, dtype=t) for (d, t) in ((64, "f32"), (40, "f16"), (64, "bf16"))],
            *[dict(places=[5, 17, -1, 40, 4, 0], KV=2, D=40, PAGE=16, dtype=t, cache=c) for (t, c) in (("f32", "i8"), ("f16", "i8"), ("f16", "f8e4nv"))],
            *[dict(places=[5, 17, -1, 40], KV=2, D=40, PAGE=16, dtype="f16", special=x) for x in ("k", "v")],
            dict(label="tokens apart", places=[5, 17, -1], KV=2, D=40, PAGE=16, dtype="f32", cache="i8", gap=24),
            dict(label="keys of 0", places=[3, 1], KV=2, D=32, PAGE=4, dtype="f32", cache="i8", flat=True),
        ],
    ),
    prefill=dict(
        inputs=prefill_inputs, outputs=decode_outputs, tolerance=attention_tolerance, flops=prefill_flops,
        variants=dict(chunks=dict(run=chunks, configs=[dict(BLOCK_M=m, BLOCK_N=n, num_warps=w, num_stages=s)
                                                       for (m, n, w, s) in ((64, 32, 4, 2), (64, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2))])),
        cases=[
            # A whole prompt, its last part, one token as in decode, and nothing.
            *[dict(label=f"{t}", tokens=[50, 130, 37, 20], queries=[50, 30, 1, 0], H=8, KV=2, D=64, PAGE=16, dtype=t) for t in ("f32", "f16", "bf16")],
            # Not values: the weight of a token that a query does not see is 0, which times an infinity in its tile is NaN.
            *[dict(label=f"special {x}", tokens=[50, 100], queries=[50, 30], H=4, KV=2, D=32, PAGE=16, dtype="f16", special=x) for x in ("q", "k_cache")],
            dict(label="queries apart", tokens=[50, 30], queries=[50, 1], H=4, KV=2, D=32, PAGE=16, dtype="f32", gap=20),
            dict(label="D 40, group of 3", tokens=[33, 90], queries=[33, 20], H=6, KV=2, D=40, PAGE=16, dtype="f32"),
            *[dict(label=f"cache of {c}", tokens=[50, 100], queries=[50, 30], H=4, KV=2, D=32, PAGE=16, dtype="f16", cache=c) for c in ("i8", "f8e4nv")],
        ],
        demo=[dict(check=True, label="256 of 1000", tokens=[1000], queries=[256], H=8, KV=2, D=64, PAGE=16, dtype="f32")],
        peers=dict(torch=torch_prefill),
        bench=[dict(label=f"{m} of {n}", tokens=[n], queries=[m], H=32, KV=8, D=128, PAGE=16, dtype="f16") for (m, n) in ((2048, 2048), (2048, 16384), (512, 32768))],
    ),
    shared_prefix=dict(
        inputs=prefix_inputs, outputs=decode_outputs, tolerance=attention_tolerance,
        flops=lambda H, D, prefix, tokens: 4 * H * D * (len(tokens) * prefix + sum(tokens)),
        variants=dict(once=dict(run=prefix_once, configs=[dict(BLOCK_R=r, BLOCK_N=n, SPLIT_TOKENS=t, num_warps=4)
                                                          for (r, n, t) in ((64, 32, 256), (64, 64, 512), (32, 64, 256), (64, 64, 2048))])),
        cases=[
            *[dict(label=f"{t}", prefix=96, tokens=[1, 37, 0, 300], H=8, KV=2, D=64, PAGE=16, dtype=t) for t in ("f32", "f16")],
            *[dict(label=f"{t} with a cache of {c}", prefix=96, tokens=[1, 37, 0, 90], H=8, KV=2, D=64, PAGE=16, dtype=t, cache=c)
              for (t, c) in (("f32", "i8"), ("f16", "f8e4nv"))],
            *[dict(label=f"special {x}", prefix=96, tokens=[1, 37, 0], H=8, KV=2, D=32, PAGE=16, dtype="f32", special=x)
              for x in ("q", "k_cache", "v_cache")],
            dict(label="queries apart", prefix=64, tokens=[1, 37, 0], H=8, KV=2, D=32, PAGE=16, dtype="f32", gap=20),
            dict(label="long prefix", prefix=640, tokens=[20] * 9, H=16, KV=2, D=32, PAGE=16, dtype="f32"),
        ],
        demo=[dict(check=True, label="8 behind 1024", prefix=1024, tokens=[100] * 8, H=8, KV=2, D=64, PAGE=16, dtype="f32")],
        peers=dict(torch=torch_decode(behind_prefix("k_cache"), behind_prefix("v_cache"))),
        bench=[dict(label=f"{b} of {n} behind 8192", prefix=8192, tokens=[n] * b, H=32, KV=8, D=128, PAGE=16, dtype="f16") for (b, n) in ((16, 512), (64, 512))],
    ),
)
