"""Day 29: FlashAttention, the argument by input and output.

See:    a tile of queries stays on the chip while all keys and values pass once. So K and V are read M / BLOCK_M times, Q and the output move once, and scores never:
        bytes fall as tiles grow, until registers and shared memory are full. `bytes_moved` and `intensity` of the rows follow that formula.
Run:    nereid test day29_io
        nereid bench day29_io --json
Change: D to 128: twice the bytes and twice the operations. The intensity depends on BLOCK_M alone.
"""
doc = "Bytes that flash attention asks for, by the height of its tiles"
library = "../../../kernels/flash_attention/kernel.py"


def inputs(H, M, D):
    return dict(q=randn((1, H, M, D), "f16"), k=randn((1, H, M, D), "f16"), v=randn((1, H, M, D), "f16"))


def outputs(H, M, D):
    return dict(out=empty((1, H, M, D), "f16"), lse=empty((1, H, M), "f32"))


def flash(rows):
    def run(q, k, v, out, lse, H, M, D):
        strides = [*q.strides[:3], *k.strides[:3], *v.strides[:3], 0, 0, 0, *out.strides[:3]]
        return [launch(f"{library}:flash_forward", (cdiv(M, rows), H), q, k, v, None, out, lse, *strides, H, 1, M, M, 1 / sqrt(D), 0.0, 0,
                       D=D, BLOCK_D=D, BLOCK_M=rows, BLOCK_N=32, CAUSAL=False, DROPOUT=False, PRECISION="tf32")]

    return dict(run=run, bytes=lambda q, k, v, out, lse, M: q.nbytes + out.nbytes + lse.nbytes + cdiv(M, rows) * (k.nbytes + v.nbytes))


cases = [dict(H=2, M=m, D=32) for m in (64, 130)]
bench = [dict(H=2, M=1024, D=64)]
variants = dict(rows_16=flash(16), rows_64=flash(64), rows_128=flash(128))
tolerance = lambda: dict(out=dict(rel=eps("f16"), abs=2 * eps("f16")), lse=dict(rel=16 * eps("f32"), abs=128 * eps("f32")))
flops = lambda H, M, D: 4 * H * M * M * D
