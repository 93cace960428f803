# RUN: nereid compile %s:tells --signature "tensordesc<fp16[64, 64]>, *i32" --target sm_90a --emit ptx | FileCheck %s --check-prefix TELLS
# RUN: nereid compile %s:made --signature "*fp16:16, tensordesc<fp16[64, 64]>" --target sm_90a --emit ptx | FileCheck %s --check-prefix MADE
# RUN: nereid compile %s:narrow --signature "tensordesc<fp16[64, 4]>" --target sm_90a --emit ptx | FileCheck %s --check-prefix NARROW
# What a bulk store must wait for, and which descriptors have no tensor map.
import triton
import triton.language as tl


# A release tells others of the block: it is in memory before.
# TELLS: cp.async.bulk.wait_group 0;
# TELLS: atom.
@triton.jit
def tells(desc, flag):
    desc.store([0, 0], tl.full([64, 64], 1.0, tl.float16))
    tl.atomic_add(flag, 1)


# A block that no product waits for comes to registers.
# MADE: ld.global
# MADE: cp.async.bulk.tensor.2d.global
@triton.jit
def made(pointer, desc):
    own = tl.make_tensor_descriptor(pointer, [64, 64], [64, 1], [64, 64])
    desc.store([0, 0], own.load([0, 0]))


# Rows of 8 bytes are too short for the copy engine.
# NARROW-NOT: cp.async.bulk
# NARROW: st.global
@triton.jit
def narrow(desc):
    desc.store([0, 0], tl.full([64, 4], 1.0, tl.float16))
