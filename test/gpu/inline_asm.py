# RUN: nereid compile %s:one --signature "*i32:16, *i32:16, 256" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:halves --signature "*fp16:16, *fp16:16, 256" --target sm_90a --emit ptx | FileCheck %s --check-prefix=HALF
# RUN: nereid compile %s:bytes --signature "*u8:16, *fp32:16, *i32:16, 512" --target sm_90a --emit ptx | FileCheck %s --check-prefix=BYTES
# RUN: nereid compile %s:tied --signature "*i32:16, *i32:16, 256" --target sm_90a --emit ptx | FileCheck %s --check-prefix=TIED
# RUN: nereid compile %s:bits --signature "*i32:16, *i32:16, 1024" --target sm_90a --emit ptx | FileCheck %s --check-prefix=BITS
# RUN: nereid compile %s:predicate --signature "*i32:16, *i32:16, 256" --target sm_90a --emit ptx | FileCheck %s --check-prefix=PREDICATE
# RUN: not nereid compile %s:strange --signature "*i32:16, *i32:16, 256" --target sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=STRANGE
# PTX of the program: once for each `pack` elements of a thread, narrow ones sharing a register.
import triton
import triton.language as tl


# CHECK-COUNT-2: shf.l.wrap.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, 5;
# CHECK-NOT: shf.l.wrap
@triton.jit
def one(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(y + i, tl.inline_asm_elementwise("shf.l.wrap.b32 $0, $1, $2, 5;", "=r,r,r", [a, a], dtype=tl.int32, is_pure=True, pack=1))


# HALF-COUNT-1: mul.f16x2 %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}};
# HALF-NOT: mul.f16x2
@triton.jit
def halves(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(y + i, tl.inline_asm_elementwise("mul.f16x2 $0, $1, $1;", "=r,r", [a], dtype=tl.float16, is_pure=True, pack=2))


# Four bytes in one register, four floats and four integers out.
# BYTES-COUNT-4: cvt.rn.f32.u8
# BYTES-NOT: cvt.rn.f32.u8
@triton.jit
def bytes(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    f, n = tl.inline_asm_elementwise(
        """
        {
            .reg .b8 t<4>;
            mov.b32 {t0, t1, t2, t3}, $8;
            cvt.rn.f32.u8 $0, t0;
            cvt.rn.f32.u8 $1, t1;
            cvt.rn.f32.u8 $2, t2;
            cvt.rn.f32.u8 $3, t3;
        }
        shr.b32 $4, $8, 1; shr.b32 $5, $8, 2; shr.b32 $6, $8, 3; shr.b32 $7, $8, 4;
        """,
        "=f,=f,=f,=f,=r,=r,=r,=r,r", [a], dtype=(tl.float32, tl.int32), is_pure=True, pack=4)
    tl.store(y + i, f)
    tl.store(z + i, n)


# An input may lie in an output's register.
# TIED-COUNT-2: add.s32 %r[[R:[0-9]+]], %r{{[0-9]+}}, 7;
@triton.jit
def tied(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(y + i, tl.inline_asm_elementwise("add.s32 $0, $0, 7;", "=r,0", [a], dtype=tl.int32, is_pure=True, pack=1))


# Booleans take a bit each: the eight of a thread are one register.
# BITS-COUNT-1: not.b32 %r{{[0-9]+}}, %r{{[0-9]+}}
# BITS-NOT: not.b32
@triton.jit
def bits(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    odd = (tl.load(x + i) & 1) == 1
    even = tl.inline_asm_elementwise("not.b32 $0, $1; // of eight", "=r,r", [odd], dtype=tl.int1, is_pure=True, pack=8)
    tl.store(y + i, tl.where(even, 10, 20))


# PREDICATE-COUNT-2: setp.gt.s32 %p{{[0-9]+}}, %r{{[0-9]+}}, 3;
@triton.jit
def predicate(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    large = tl.inline_asm_elementwise("setp.gt.s32 $0, $1, 3;", "=b,r", [tl.load(x + i)], dtype=tl.int1, is_pure=True, pack=1)
    tl.store(y + i, tl.where(large, 10, 20))


# STRANGE: `tile.inline_asm` is not supported on the GPU yet: the constraint `q`
@triton.jit
def strange(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(y + i, tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,q", [a], dtype=tl.int32, is_pure=True, pack=1))
