// RUN: nereid-opt %s --gpu-assign-layouts --cse --gpu-pipeline-loads --cse | FileCheck %s

// Bulk copies go through the steps of all tiles: one warp starts them and knows where the next ones stand, the tile moves on where
// its steps end. Tiles without a step are a loop of their own.
!a = !tile.desc<64x64xf16>
// CHECK-LABEL: @tiles
// CHECK: %[[A:.*]] = tilegpu.ring : <3, tensor<64x64xf16
// CHECK: %[[B:.*]] = tilegpu.ring : <3, tensor<64x64xf16
// CHECK: %[[ARRIVED:.*]] = tilegpu.arrivals : <3>
// The first two steps, whatever tiles they are of.
// CHECK: scf.for %[[SLOT:.*]] = %c0_i32 to %c2_i32 {{.*}} iter_args(%[[IS:[^ ]*]] = {{.*}}, %[[TILE:[^ ]*]] = %c0_i32, %[[ROW:[^ ]*]] = {{.*}}, %[[K:[^ ]*]] = %c0_i32)
// CHECK: tilegpu.is_copying_warp
// CHECK: scf.if %[[IS]] {
// CHECK: tilegpu.expect_bulk %[[ARRIVED]][%[[SLOT]]] bytes 16384
// CHECK: tilegpu.copy_bulk %[[A]][%[[SLOT]]], %arg0[%[[ROW]], %[[K]]]
// CHECK: tilegpu.copy_bulk %[[B]][%[[SLOT]]], %arg1[%[[K]], %c0_i32]
// CHECK: %[[STEP:.*]] = arith.addi %[[K]], %c64_i32
// CHECK: scf.yield %[[IS]], %[[TILE]], %[[ROW]], %[[STEP]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[TILE]], %c1_i32
// CHECK: %[[BELOW:.*]] = arith.muli %[[NEXT]], %c64_i32
// CHECK: scf.yield %{{.*}}, %[[NEXT]], %[[BELOW]], %c0_i32
// The tiles, and their steps.
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tilegpu.wait_bulk %[[ARRIVED]]
// CHECK: tile.dot
// CHECK: tilegpu.free_slot %[[ARRIVED]]
// CHECK: tilegpu.acquire_slot %[[ARRIVED]]
// CHECK: tilegpu.copy_bulk %[[A]]
// CHECK: tilegpu.copy_bulk %[[B]]
// CHECK: tilegpu.wait_products
// CHECK: tile.store
// CHECK: tilegpu.drain %[[A]], %[[B]], %[[ARRIVED]]
// CHECK: } else {
// CHECK-NOT: tile.dot
// CHECK: tile.store
func.func @tiles(%x: !a {tile.name = "x"}, %y: !a {tile.name = "y"}, %z: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %count: i32, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 64 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %zs = tile.splat %z : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  scf.for %tile = %zero to %count step %one : i32 {
    %row = arith.muli %tile, %size : i32
    %sum = scf.for %k = %zero to %n step %size iter_args(%acc = %none) -> tensor<64x64xf32> : i32 {
      %a = tile.desc_load %x [%row, %k] : !a -> tensor<64x64xf16>
      %b = tile.desc_load %y [%k, %zero] : !a -> tensor<64x64xf16>
      %next = tile.dot %a, %b, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    tile.store %zs, %sum : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  } {tile.flatten}
  return
}
