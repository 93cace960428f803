# run: ref cpu gpu
# Functions made like Triton's builtins: `_semantic` and `_generator`, methods that take them, functions made by functions.
import triton
import triton.language as tl
from triton.language import core


@core.builtin
def warps(_semantic=None):
    return core.constexpr(_semantic.builder.options.num_warps)


@core.builtin
def as_float(x, _semantic=None):
    return _semantic.to_tensor(x).to(tl.float32, _semantic=_semantic)


@core.builtin
def sum_of(*terms, _semantic=None):
    total = terms[0]
    for term in terms[1:]:
        total = total.__add__(term, _semantic=_semantic)
    return _semantic.cast(total, tl.float32)


@triton.jit
def scaled(x, K: tl.constexpr):
    return x * K


@core.builtin
def by_generator(x, _semantic=None, _generator=None):
    return _generator.call_JitFunction(scaled, (x, ), kwargs={"K": core.constexpr(3)})


@core.extern
def old_absolute(x, _builder=None):
    return core.extern_elementwise("", "", [x], {(core.dtype("fp32"), ): ("__nv_fabsf", core.dtype("fp32"))}, is_pure=True,
                                   _builder=_builder)


FACTOR = 4


def power(exponent):
    @core.builtin
    def raised(x, _semantic=None):
        total = _semantic.to_tensor(FACTOR)
        for _ in range(exponent):
            total = total.__mul__(x, _semantic=_semantic)
        return total

    return raised


cube = power(3)


@triton.jit
def k(out, x):
    v = tl.load(x)
    tl.store(out, warps())
    tl.store(out + 1, as_float(7))
    tl.store(out + 2, sum_of(v, 1, v, 2))
    tl.store(out + 3, by_generator(v))
    tl.store(out + 4, old_absolute(-v))
    tl.store(out + 5, cube(v))


# expect: k(x=[2.0]:f32) -> out == [4, 7, 7, 6, 2, 32]
