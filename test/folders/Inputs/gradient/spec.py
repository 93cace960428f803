doc = "Gradients that are right and wrong; special values in an input, and in one that is not there"
cases = [dict(n=20, dtype=d) for d in ("f32", "f16")]
tolerance = lambda dtype: dict(rel=8 * eps(dtype), abs=eps(dtype))


def inputs(n, dtype):
    return dict(x=randn((n,), dtype), dy=randn((n,), dtype))


def gradient_task(factor, **more):
    return dict(outputs=lambda n, dtype: dict(dx=empty((n,), dtype)),
                variants=dict(one=lambda x, dy, dx, n: [launch("slope", (1,), x, dy, dx, n, FACTOR=factor, BLOCK=32)]), **more)


tasks = dict(
    forward=dict(cases=[*cases, dict(n=20, dtype="f32", special="x"), dict(n=20, dtype="f32", special="z")], outputs=lambda n, dtype: dict(y=empty((n,), dtype)),
                 variants=dict(one=lambda x, y, n: [launch("cube", (1,), x, y, n, BLOCK=32)])),
    right=gradient_task(3, gradient=dict(of="forward", given=dict(y="dy"), by=dict(dx="x"))),
    wrong=gradient_task(2, gradient=dict(of="forward", given=dict(y="dy"), by=dict(dx="x"))),
)
