"""Day 14: softmax against the limit of the memory.

See:    softmax reads each number once and writes it once, so no kernel is faster than a copy of the same bytes: `of copy` says how near it comes. A row that is
        kept on the chip is read once; the textbook order reads it three times, and pays for it as soon as rows fall out of the cache.
Run:    nereid test day14_bandwidth
        nereid bench day14_bandwidth --match small
        (on a GPU) nereid bench day14_bandwidth --match large
Change: the length of rows (256, 4096, 32768). When do the two variants part?
"""
doc = "Softmax beside a copy: one read of each row, or three"
library = "../../../kernels/softmax"


def inputs(M, N):
    return dict(x=randn((M, N), "f32", std=3))


def outputs(M, N):
    return dict(y=empty((M, N), "f32"))


def one_read(x, y, M, N):
    warps = max(min(next_power_of_2(N) // 256, 16), 4)
    return [launch(f"{library}/kernel.py:softmax_row", (M,), x, y, N, N, N, BLOCK=next_power_of_2(N), num_warps=warps)]


def three_reads(x, y, M, N):
    return [launch(f"{library}/three_pass.py:softmax_three_pass", (M,), x, y, N, N, N, BLOCK=1024, num_warps=8)]


cases = [dict(M=m, N=n) for (m, n) in ((1, 1), (3, 100), (2, 1500))]
bench = [dict(label="small", M=1024, N=1024), dict(label="large", M=16384, N=16384)]
variants = dict(one_read=one_read, three_reads=dict(run=three_reads, bytes=lambda x: 4 * x.nbytes))
tolerance = lambda N: dict(rel=(16 + sqrt(N)) * eps("f32"), abs=1e-38)
flops = lambda M, N: 5 * M * N
