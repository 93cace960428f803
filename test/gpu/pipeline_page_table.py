# RUN: nereid compile %s:attend --signature "*fp16:16, *i32:16, *fp32:16, i32" --target sm_90a --emit gpu --num-stages 3 | FileCheck %s
# Addresses that are loaded start one step before the copies that wait for them. The operand that the
# loop does not change is written to shared memory once.
import triton
import triton.language as tl


# CHECK-DAG: %[[Q:.*]] = tilegpu.ring : <1, tensor<64x64xf16
# CHECK-DAG: %[[K:.*]] = tilegpu.ring : <3, tensor<64x64xf16
# CHECK: tilegpu.write_slot %[[Q]]
# CHECK: scf.for {{.*}} iter_args({{.*}}%[[ROWS:[a-z0-9]*]] = %{{[0-9]*}}, %[[SLOT:[a-z0-9]*]] = %c0
# CHECK: tile.load {{.*}} mask
# CHECK: tilegpu.wait_copies 1
# CHECK: arith.extsi %[[ROWS]]
# CHECK: tilegpu.copy_async %[[K]]{{.*}} vector 8
# CHECK: tilegpu.read_slot %[[K]][%[[SLOT]]]
# CHECK: tile.trans
# CHECK: %[[QT:.*]] = tilegpu.read_slot %[[Q]]
# CHECK: tile.dot %[[QT]]
# CHECK: tilegpu.drain
@triton.jit
def attend(x_ptr, table_ptr, out_ptr, N):
    i = tl.arange(0, 64)
    q = tl.load(x_ptr + i[:, None] * 64 + i[None, :])
    largest = tl.full([64], -1.0, dtype=tl.float32)
    for start in range(0, N, 64):
        row = tl.load(table_ptr + start + i).to(tl.int64)
        k = tl.load(x_ptr + row[:, None] * 64 + i[None, :])
        largest = tl.maximum(largest, tl.max(tl.dot(q, tl.trans(k)), axis=1))
    tl.store(out_ptr + i, largest)
