# RUN: nereid compile %s:joined -s "*i32, *i32, *i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix JOIN
# RUN: nereid compile %s:halves -s "*i32, *i32, *i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix SPLIT
# Both halves of a pair lie in one thread's registers, also where they are scalars.
# JOIN: #[[PAIR:.*]] = #tilegpu.layout<1, register = {{\[\[1\]\]}}
# JOIN: tile.join {{.*}} : i32 -> tensor<2xi32, #[[PAIR]]>
# SPLIT: #[[PAIR:.*]] = #tilegpu.layout<1, register = {{\[\[1\]\]}}
# SPLIT: tile.split {{.*}} : tensor<2xi32, #[[PAIR]]>
import triton
import triton.language as tl


@triton.jit
def joined(x, y, z):
    tl.store(z + tl.arange(0, 2), tl.join(tl.load(x), tl.load(y)))


@triton.jit
def halves(x, y, z):
    low, high = tl.split(tl.load(x + tl.arange(0, 2)))
    tl.store(y, low)
    tl.store(z, high)
