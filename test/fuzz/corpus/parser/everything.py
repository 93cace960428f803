# -*- coding: utf-8 -*-
import triton, triton.language as tl
from .a import (b, c as d,)

@triton.autotune(configs=[triton.Config({'BLOCK': 2 ** i}, num_warps=4) for i in range(4, 8)], key=['n'])
@triton.jit
def kernel(x_ptr, n, /, *args: *Ts, BLOCK: tl.constexpr = 0x1_0, **kw) -> "int":
    """Doc\x41 \
    string"""
    pid = tl.program_id(0); offs = pid * BLOCK + tl.arange(0, BLOCK)[:, None]
    for k in tl.static_range(0, n, 1):
        if k % 2 == 0 and not (k >= 1e3 or k is None):
            acc += tl.dot(a, b.T, acc=acc) @ c[::2, ...] if x else -y ** ~z
        elif (m := k) in {1, 2, *s} or {**a, 'b': lambda *a, b=1: (yield a)}:
            print(f"{pid!r:>{w}} {x = } {f'{y}'} {{}}", rb'\x', u'\u00e9' 'é')
        else:
            del a, b[0]
    try:
        with (open(x) as f, g): return await h
    except* (A, B) as e:
        raise e from None
    finally:
        match x, y:
            case [1, -2.5 + 1j, *_] | {"k": P(q=Q.r), **rest} if z: pass
type X[T: int, *Us, **P] = list[T]
