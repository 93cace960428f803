// RUN: nereid-opt %s --gpu-assign-layouts --cse --gpu-pipeline-loads --cse | FileCheck %s

!a = !tile.desc<64x64xf16>
// How many steps a tile has may depend on the tile, where it has one at least: the copies go on from the last one of each, whichever
// that is, and what is in memory about a tile that does not exist is not read.
// CHECK-LABEL: @lengths
// CHECK-NOT: scf.if {{.*}} else
// CHECK: %[[SOME:.*]] = arith.cmpi slt, %c0_i32, %arg4
// CHECK: %[[LENGTH:.*]] = tile.load %{{.*}} mask %[[SOME]]
// CHECK: %[[STEPS:.*]] = arith.maxsi %[[LENGTH]], %c1_i32
// CHECK: scf.for {{.*}} iter_args(%[[IS:[^ ]*]] = %[[SOME]], {{.*}} = %[[STEPS]]
// CHECK: tilegpu.copy_bulk
// CHECK: %[[THERE:.*]] = arith.andi
// CHECK: tile.load %{{.*}} mask %[[THERE]]
// CHECK: scf.for
// CHECK: %[[OWN:.*]] = tile.load
// CHECK: %[[END:.*]] = arith.maxsi %[[OWN]], %c1_i32
// CHECK: scf.for {{.*}} to %[[END]]
// CHECK: tile.dot
func.func @lengths(%x: !a {tile.name = "x"}, %y: !a {tile.name = "y"}, %z: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %l: !tile.ptr<i32>, %count: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 64 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %zs = tile.splat %z : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  scf.for %tile = %zero to %count step %one : i32 {
    %row = arith.muli %tile, %size : i32
    %at = tile.addptr %l, %tile : !tile.ptr<i32>, i32
    %length = tile.load %at : !tile.ptr<i32> -> i32
    %steps = arith.maxsi %length, %one : i32
    %sum = scf.for %step = %zero to %steps step %one iter_args(%acc = %none) -> tensor<64x64xf32> : i32 {
      %k = arith.muli %step, %size : i32
      %a = tile.desc_load %x [%row, %k] : !a -> tensor<64x64xf16>
      %b = tile.desc_load %y [%k, %zero] : !a -> tensor<64x64xf16>
      %next = tile.dot %a, %b, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    tile.store %zs, %sum : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  } {tile.flatten}
  return
}
