doc = "Access along memory and across it: a copy and a transpose, good and bad"


def inputs(M, N):
    return dict(x=randn((M, N), "f32"))


def along(x, y, M, N, BLOCK):
    return [launch("copy_along_rows", (M, cdiv(N, BLOCK)), x, y, M, N, BLOCK=BLOCK)]


def across(x, y, M, N, BLOCK):
    return [launch("copy_down_columns", (N, cdiv(M, BLOCK)), x, y, M, N, BLOCK=BLOCK)]


def by_tiles(x, y, M, N, BLOCK, num_warps):
    return [launch("transpose_by_tiles", (cdiv(M, BLOCK), cdiv(N, BLOCK)), x, y, M, N, BLOCK=BLOCK, num_warps=num_warps)]


def by_rows(x, y, M, N, BLOCK):
    return [launch("transpose_by_rows", (M, cdiv(N, BLOCK)), x, y, M, N, BLOCK=BLOCK)]


blocks = [dict(BLOCK=b) for b in (1024, 512, 2048)]
tasks = dict(
    copy=dict(inputs=inputs, outputs=lambda M, N: dict(y=empty((M, N), "f32")),
              variants=dict(good=dict(run=along, configs=blocks), bad=dict(run=across, configs=blocks)), peers=dict(torch="x.clone()")),
    transpose=dict(inputs=inputs, outputs=lambda M, N: dict(y=empty((N, M), "f32")),
                   variants=dict(good=dict(run=by_tiles, configs=[dict(BLOCK=b, num_warps=w) for (b, w) in ((64, 4), (32, 4), (64, 8), (128, 8))]),
                                 bad=dict(run=by_rows, configs=blocks)), peers=dict(torch="x.T.contiguous()")),
)
cases = [*[dict(M=m, N=n) for (m, n) in ((1, 1), (3, 2000), (130, 70))], dict(label="no rows", M=0, N=10)]
demo = [dict(check=True, M=1024, N=1024)]
bench = [dict(M=n, N=n) for n in (1024, 4096, 16384)]
tolerance = dict(rel=0, abs=0)
