def inputs(dtype):
    return dict(x=zeros((16,), dtype))


def outputs(dtype):
    return dict(y=empty((16,), dtype))


def run(x, y, dtype):
    return [launch("copy", (1,), x, y, N=16, NAME=x.dtype, WANTED=dtype)]


variants = dict(copy=dict(run=run))
tolerance = lambda dtype: dict(rel=0, abs=0)
cases = [dict(dtype=d) for d in ("i1", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "f8e4nv", "f8e5")]
