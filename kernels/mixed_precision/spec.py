doc = "Training in narrow floats: loss scaling with a check for overflow; fp8 with delayed scaling by a history of maxima"


def copied(source, target):
    """Kernels that change a tensor in place get a copy of the input, as rows of a matrix."""
    return launch("tensors.py:copy", (cdiv(source.numel(), 1024),), source, target, source.numel(), BLOCK=1024)


def unscale_inputs(n, dtype, scale=1024.0, bad=None):
    grad = randn((n,), dtype, std=10) if bad == None else values([1.0] * (n - 1) + [bad], dtype)
    return dict(grad=grad, scale=full((1,), scale, "f32"))


def unscale_outputs(n, dtype):
    return dict(out=empty((n,), dtype), overflow=empty((1,), "f32"))


def unscale_once(grad, scale, out, overflow, n, BLOCK, num_warps):
    return [launch("tensors.py:clear", (1,), overflow),
            launch("unscale", (cdiv(n, BLOCK),), grad, out, scale, overflow, n, BLOCK=BLOCK, num_warps=num_warps)]


def update_inputs(scale=1024.0, steps=0, overflow=0.0, interval=2000):
    return dict(scale_in=full((1,), scale, "f32"), steps_in=full((1,), steps, "i32"), overflow_in=full((1,), overflow, "f32"),
                growth=2.0, backoff=0.5, interval=interval)


def update_outputs():
    return dict(scale=empty((1,), "f32"), steps=empty((1,), "i32"), overflow=empty((1,), "f32"))


def one_program(scale_in, steps_in, overflow_in, scale, steps, overflow, growth, backoff, interval):
    return [copied(scale_in, scale), copied(steps_in, steps), copied(overflow_in, overflow),
            launch("update_scale", (1,), scale, steps, overflow, growth, backoff, interval, num_warps=1)]


def largest_of(kind):
    return 448.0 if kind == "f8e4nv" else 57344.0


def cast_inputs(n, dtype, kind, scale=100.0):
    return dict(x=randn((n,), dtype), scale=full((1,), scale, "f32"), largest=largest_of(kind))


def cast_outputs(n, kind):
    return dict(q=empty((n,), kind), amax=empty((1,), "f32"))


def one_read(x, scale, q, amax, n, BLOCK, num_warps):
    return [launch("tensors.py:clear", (1,), amax),
            launch("cast_and_measure", (cdiv(n, BLOCK),), x, scale, q, amax, n, BLOCK=BLOCK, num_warps=num_warps)]


def scales_inputs(T, length, kind, margin=0, maxima=None):
    return dict(history_in=rand((T, length), "f32", high=10), amax_in=rand((T,), "f32", high=10) if maxima == None else values(maxima, "f32"),
                scale_in=rand((T,), "f32", low=1, high=2), largest=largest_of(kind), margin=margin)


def scales_outputs(T, length):
    return dict(history=empty((T, length), "f32"), scale=empty((T,), "f32"), inverse=empty((T,), "f32"), amax=empty((T,), "f32"))


def all_tensors(history_in, amax_in, scale_in, history, scale, inverse, amax, T, length, largest, margin):
    return [copied(history_in, history), copied(amax_in, amax), copied(scale_in, scale),
            launch("update_fp8_scales", (cdiv(T, 16),), history, amax, scale, inverse, T, length, largest, float(margin),
                   BLOCK_T=16, BLOCK_H=next_power_of_2(length))]


def cast_tolerance(kind):
    # Half a step of fp8: relative, and below the least normal number absolute; the product is rounded to f32 first.
    return dict(q=dict(rel=0.501 * eps(kind), abs=2**-10 if kind == "f8e4nv" else 2**-17), amax=dict(rel=0, abs=0))


configs = [dict(BLOCK=b, num_warps=w) for (b, w) in ((4096, 8), (2048, 4), (8192, 8))]
tasks = dict(
    unscale=dict(
        inputs=unscale_inputs, outputs=unscale_outputs, variants=dict(one_read=dict(run=unscale_once, configs=configs, bytes=lambda grad: 2 * grad.nbytes)),
        # The scale is a power of two, so that only subnormal results of f16 are rounded.
        tolerance=lambda dtype: dict(out=dict(rel=eps(dtype) / 2 + 2 * eps("f32"), abs=3e-8 if dtype == "f16" else 1e-38), overflow=dict(rel=0, abs=0)),
        cases=[*[dict(n=n, dtype="f32") for n in (1, 1000, 9000)], *[dict(n=1000, dtype=d) for d in ("f16", "bf16")],
               *[dict(n=5000, dtype=d, bad=b) for (d, b) in (("f16", inf), ("f32", -inf), ("bf16", nan))],
               dict(label="no gradient", n=0, dtype="f32")],
        demo=[dict(check=True, n=1 << 20, dtype="f32")], bench=[dict(n=1 << k, dtype="f32") for k in (20, 24, 28)],
        peers=dict(torch="torch._amp_foreach_non_finite_check_and_unscale_([grad], torch.zeros(1, device='cuda'), torch.ones(1, device='cuda'))"),
    ),
    update_scale=dict(
        inputs=update_inputs, outputs=update_outputs, variants=dict(one_program=one_program), tolerance=lambda: dict(rel=0, abs=0),
        cases=[dict(steps=0), dict(steps=1998), dict(steps=1999), dict(steps=7, overflow=1.0), dict(scale=3e38, steps=0, interval=1)],
        demo=[], bench=[],
    ),
    cast=dict(
        inputs=cast_inputs, outputs=cast_outputs, tolerance=cast_tolerance,
        variants=dict(one_read=dict(run=one_read, configs=configs, bytes=lambda x, q: x.nbytes + q.nbytes)),
        cases=[*[dict(n=n, dtype="f32", kind="f8e4nv") for n in (1, 1000, 9000)], dict(n=1000, dtype="bf16", kind="f8e4nv"), dict(n=1000, dtype="f16", kind="f8e5"),
               dict(label="saturates", n=1000, dtype="f32", kind="f8e4nv", scale=400.0), dict(label="nothing", n=0, dtype="f32", kind="f8e4nv")],
        demo=[dict(check=True, n=1 << 20, dtype="f32", kind="f8e4nv")], bench=[dict(n=1 << k, dtype="bf16", kind="f8e4nv") for k in (20, 24, 28)],
    ),
    fp8_scales=dict(
        inputs=scales_inputs, outputs=scales_outputs, variants=dict(all_tensors=all_tensors),
        tolerance=lambda: dict(history=dict(rel=0, abs=0), scale=dict(rel=4 * eps("f32"), abs=0), inverse=dict(rel=4 * eps("f32"), abs=0)),
        cases=[dict(T=1, length=1, kind="f8e4nv"), dict(T=40, length=16, kind="f8e4nv"), dict(T=5, length=1024, kind="f8e5", margin=2),
               dict(label="nothing usable", T=4, length=1, kind="f8e4nv", maxima=[0.0, inf, nan, 2.0])],
        demo=[], bench=[dict(T=512, length=1024, kind="f8e4nv")],
    ),
)
