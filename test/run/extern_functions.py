# run: ref cpu gpu
# Functions of libdevice by their symbols, as wrappers written like Triton's own call them: the types of the arguments choose.
import triton
import triton.language as tl
from triton.language import core


@core.extern
def power(x, y, _semantic=None):
    return core.extern_elementwise("libdevice", "", [x, y], {
        (core.dtype("fp32"), core.dtype("fp32")): ("__nv_powf", core.dtype("fp32")),
        (core.dtype("fp64"), core.dtype("fp64")): ("__nv_pow", core.dtype("fp64")),
        (core.dtype("fp32"), core.dtype("int32")): ("__nv_powif", core.dtype("fp32")),
    }, is_pure=True, _semantic=_semantic)


@core.extern
def rounded(x, _semantic=None):
    return core.extern_elementwise("libdevice", "", [x], {(core.float32, ): ("__nv_llrintf", core.int64)}, is_pure=True, _semantic=_semantic)


@triton.jit
def powers(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(z + i, power(tl.load(x + i), tl.load(y + i)))
    tl.store(z + N + i, power(tl.load(x + i), tl.load(y)))

# expect: powers(x=[2, 3, 0.5, 1]:f32, y=[3, 2, 1, 5]:f32, z=zeros(8,f32), N=4) -> z ~= [8, 9, 0.5, 1, 8, 27, 0.125, 1] within 1e-6
# expect: powers(x=[2, 3, 0.5, 1]:f64, y=[3, 2, 1, 5]:f64, z=zeros(8,f64), N=4) -> z ~= [8, 9, 0.5, 1, 8, 27, 0.125, 1] within 1e-12
# expect: powers(x=[2, 3, 0.5, 1]:f32, y=[3, 2, 1, 5]:i32, z=zeros(8,f32), N=4) -> z ~= [8, 9, 0.5, 1, 8, 27, 0.125, 1] within 1e-6
# expect: powers(x=[2, 3, 0.5, 1]:f32, y=[3, 2, 1, 5]:f64, z=zeros(8,f64), N=4) -> z ~= [8, 9, 0.5, 1, 8, 27, 0.125, 1] within 1e-12


@triton.jit
def rounds(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, rounded(tl.load(x + i)))

# expect: rounds(x=[2.5, 3.5, -0.5, 1e10]:f32, y=zeros(4,i64), N=4) -> y == [2, 4, 0, 10000000000]
