// RUN: nereid-opt %s --gpu-assign-layouts --cse --gpu-pipeline-loads --cse | FileCheck %s

// Copies to four slots, three steps ahead: one more than three stages, since a step waits for the next one's before it starts others. The product runs on into the next step, so the copies of a step start at its end, in the
// slot of the step before.
// CHECK-LABEL: @product
// CHECK: %[[A:.*]] = tilegpu.ring : <4, tensor<64x64xf16
// CHECK: %[[B:.*]] = tilegpu.ring : <4, tensor<64x64xf16
// CHECK: tilegpu.copy_async %[[A]][%c0_i32]
// CHECK: tilegpu.copy_async %[[B]][%c0_i32]
// CHECK: tilegpu.commit_copies
// CHECK: tilegpu.copy_async %[[A]][%c1_i32]
// CHECK: tilegpu.copy_async %[[B]][%c1_i32]
// CHECK: tilegpu.commit_copies
// CHECK: tilegpu.copy_async %[[A]][%c2_i32]
// CHECK: tilegpu.copy_async %[[B]][%c2_i32]
// CHECK: tilegpu.commit_copies
// CHECK: tilegpu.wait_copies 2
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[SLOT:.*]] = %c0_i32)
// CHECK: %[[X:.*]] = tilegpu.read_slot %[[A]][%[[SLOT]]]
// CHECK: %[[Y:.*]] = tilegpu.read_slot %[[B]][%[[SLOT]]]
// CHECK: tile.dot %[[X]], %[[Y]], {{.*}}tilegpu.pending = 1
// CHECK: tilegpu.wait_copies 1
// CHECK: %[[LATER:.*]] = arith.addi %[[SLOT]], %c3_i32
// CHECK: %[[TO:.*]] = arith.select %{{.*}}, %{{.*}}, %[[LATER]]
// CHECK: tilegpu.copy_async %[[A]][%[[TO]]]
// CHECK: tilegpu.copy_async %[[B]][%[[TO]]]
// CHECK: tilegpu.wait_products
// CHECK: tilegpu.drain %[[A]], %[[B]]
func.func @product(%x: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %y: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %z: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %pitch = arith.constant dense<64> : tensor<64x1xi32>
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %rows = tile.expand_dims %r axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tile.expand_dims %r axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %starts = arith.muli %rows, %pitch : tensor<64x1xi32>
  %a0 = tile.broadcast %starts : tensor<64x1xi32> -> tensor<64x64xi32>
  %a1 = tile.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %places = arith.addi %a0, %a1 : tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %ys = tile.splat %y : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %zs = tile.splat %z : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %sum = scf.for %i = %zero to %n step %step iter_args(%acc = %none) -> tensor<64x64xf32> : i32 {
    %is = tile.splat %i : i32 -> tensor<64x64xi32>
    %at = arith.addi %is, %places : tensor<64x64xi32>
    %p = tile.addptr %xs, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %q = tile.addptr %ys, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %a = tile.load %p : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %b = tile.load %q : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %next = tile.dot %a, %b, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %o = tile.addptr %zs, %places : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %o, %sum : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}
