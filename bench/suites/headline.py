doc = "Figures that people know of GPU kernels, measured by this engine"
kernels = "../../kernels"


def fit(x, y):
    """Slope and R^2 of a straight line."""
    mx, my = sum(x) / len(x), sum(y) / len(y)
    xy = sum([(a - mx) * (b - my) for a, b in zip(x, y)])
    xx, yy = sum([(a - mx) ** 2 for a in x]), sum([(b - my) ** 2 for b in y])
    return xy / xx, xy * xy / (xx * yy)


def growth(rows, key, size):
    """The power of `size` with which `key` grows."""
    return fit([log(row["case"][size]) for row in rows], [log(row[key]) for row in rows])[0]


def straightness(rows, size):
    return fit([row["case"][size] for row in rows], [row["seconds"] for row in rows])[1]


def widest(facts):
    return min([access["bytes"] for access in facts["accesses"]])


def claims(device):
    gpu = device == "cuda"
    row = lambda folder, variant, best=False, **case: dict(folder=f"{kernels}/{folder}", variant=variant, case=case, all_configs=best and gpu)
    ratio = lambda slow, fast: slow["seconds"] / fast["seconds"]
    n = 1 << 28 if gpu else 1 << 22
    rows = dict(M=16384, N=16384, dtype="f32") if gpu else dict(M=1024, N=4096, dtype="f32")
    attention = lambda D: dict(B=4, H=32, M=4096, D=D, dtype="f16", causal=True, p=0.125) if gpu else dict(B=1, H=2, M=1024, D=D, dtype="f32", causal=True, p=0.125)
    lengths = (256, 512, 1024, 2048, 4096, 8192, 16384) if gpu else (256, 512, 1024, 2048)
    memory = lambda folder, variant: [row(folder, variant, B=1, H=1, M=m, D=16, dtype="f16") for m in lengths]
    product = lambda n, best=False: row("matmul", "grouped", best, M=n, N=n, K=n, dtype="f16" if gpu else "f32")
    tokens = 4096 if gpu else 1024

    both = [
        dict(name="gelu", claim="GELU in one launch rather than nine", unit="x", least=8 if gpu else 2,
             rows=dict(unfused=row("gelu", "tanh.unfused", n=n, dtype="f32"), fused=row("gelu", "tanh.fused", True, n=n, dtype="f32")),
             figure=lambda unfused, fused: ratio(unfused, fused)),
        dict(name="gelu_width", claim="GELU reads and writes four values a thread (sm_90a)", unit=" bytes", least=16, timed=False,
             rows=dict(facts=dict(inspect=f"{kernels}/gelu/kernel.py:gelu_tanh --arg x_ptr=empty(1048576,f32) --arg y_ptr=empty(1048576,f32) "
                                          "--arg n=1048576 --const BLOCK=1024 --target sm_90a")),
             figure=widest),
        dict(name="softmax", claim="softmax in one launch rather than five", unit="x", least=3.5 if gpu else 1.5,
             rows=dict(unfused=row("softmax", "forward.unfused", **rows), three_pass=row("softmax", "forward.three_pass", True, **rows),
                       online=row("softmax", "forward.online", True, **rows), fused=row("softmax", "forward.single_pass", **rows)),
             figure=lambda unfused, three_pass, online, fused: ratio(unfused, fused)),
        dict(name="attention_64", claim="flash attention beside standard attention with mask and dropout, D = 64", unit="x", least=3.7 if gpu else 1,
             rows=dict(standard=row("attention_standard", "standard", True, **attention(64)), flash=row("flash_attention", "forward.flash", True, **attention(64))),
             figure=lambda standard, flash: ratio(standard, flash)),
        dict(name="attention_128", claim="the same, D = 128", unit="x", least=2.8 if gpu else 1,
             rows=dict(standard=row("attention_standard", "standard", True, **attention(128)), flash=row("flash_attention", "forward.flash", True, **attention(128))),
             figure=lambda standard, flash: ratio(standard, flash)),
        dict(name="memory_flash", claim="peak bytes of flash attention grow as n to the power", most=1.05, timed=False,
             rows=dict(rows=memory("flash_attention", "forward.flash")), figure=lambda rows: growth(rows, "peak_bytes", "M")),
        dict(name="memory_standard", claim="peak bytes of standard attention grow as n to the power", least=1.95, timed=False,
             rows=dict(rows=memory("attention_standard", "standard")), figure=lambda rows: growth(rows, "peak_bytes", "M")),
        dict(name="matmul_cubed", claim="time of a large product grows as n to the power", least=2.5, most=3.3,
             rows=dict(rows=[product(n, True) for n in ((2048, 4096, 8192) if gpu else (128, 256, 512))]), figure=lambda rows: growth(rows, "seconds", "M")),
        dict(name="mlp_layers", claim="forward and backward of an MLP take time linear in its layers", unit=" = R^2", least=0.99,
             rows=dict(rows=[row("mlp", "train", batch=256, width=256, layers=k, steps=1) for k in range(1, 9)]), figure=lambda rows: straightness(rows, "layers")),
        dict(name="mlp_steps", claim="and linear in its steps", unit=" = R^2", least=0.99,
             rows=dict(rows=[row("mlp", "train", batch=256, width=256, layers=4, steps=k) for k in range(1, 9)]), figure=lambda rows: straightness(rows, "steps")),
        dict(name="kv_cache", claim=f"a token with {tokens} before it: attention of all of them again, or of the last one to the cache", unit="x", least=10,
             rows=dict(again=row("flash_attention", "forward.flash", True, B=1, H=8, M=tokens, D=64, dtype="f32", causal=True),
                       cached=row("paged_attention", "decode.split_kv", True, tokens=[tokens], H=8, KV=8, D=64, PAGE=16, dtype="f32")),
             figure=lambda again, cached: ratio(again, cached)),
        dict(name="graph", claim="a hundred tiny kernels: launches, or one graph", unit="x", least=1.5 if gpu else 1,
             rows=dict(launches=dict(measure="launches", case=dict(count=100)), graph=dict(measure="graph", case=dict(count=100))),
             figure=lambda launches, graph: ratio(launches, graph)),
    ]
    only_gpu = [
        dict(name="gelu_of_copy", claim="GELU moves at the speed of a copy", unit="%", least=90,
             rows=dict(fused=row("gelu", "tanh.fused", True, n=n, dtype="f32")), figure=lambda fused: 100 * fused["copy_share"]),
        dict(name="softmax_of_copy", claim="softmax moves at the speed of a copy", unit="%", least=88,
             rows=dict(fused=row("softmax", "forward.single_pass", **rows)), figure=lambda fused: 100 * fused["copy_share"]),
        dict(name="fp8", claim="products of fp8 beside those of f16, 8192", unit="x", least=1.85,
             rows=dict(f16=row("matmul", "grouped", True, M=8192, N=8192, K=8192, dtype="f16"),
                       fp8=row("matmul", "grouped", True, M=8192, N=8192, K=8192, dtype="f8e4nv", transposed="b")),
             figure=lambda f16, fp8: ratio(f16, fp8)),
        dict(name="matmul_flat", claim="a product of 256 takes hardly longer than one of 64", unit="x", most=2,
             rows=dict(small=product(64), larger=product(256)), figure=lambda small, larger: ratio(larger, small)),
        dict(name="decode_of_copy", claim="decoding moves the cache at the speed of a copy", unit="%", least=80,
             rows=dict(decode=row("paged_attention", "decode.one_pass", True, tokens=[4096] * 64, H=32, KV=8, D=128, PAGE=16, dtype="f16")),
             figure=lambda decode: 100 * decode["copy_share"]),
        dict(name="graph_kernel", claim="a kernel of a graph takes", unit=" us", most=1,
             rows=dict(graph=dict(measure="graph", case=dict(count=1000))), figure=lambda graph: 1e6 * graph["seconds"] / graph["launches"]),
        dict(name="streams", claim="a copy and arithmetic on two streams, over the longer of the two", unit="x", most=1.1,
             # Steps that take about as long as the copy of 256 MB: of a longer and a shorter one nothing is learnt.
             rows=dict(copy=dict(measure="copy", case=dict()), compute=dict(measure="compute", case=dict(steps=5000000)),
                       both=dict(measure="both", case=dict(steps=5000000))),
             figure=lambda copy, compute, both: both["seconds"] / max(copy["seconds"], compute["seconds"])),
    ]
    return both + (only_gpu if gpu else [])
