// RUN: nereid-opt %s --gpu-assign-layouts --gpu-start-loads-ahead --cse | FileCheck %s

// The load of the next step is carried in registers; of a step that does not run it touches nothing.
// CHECK-LABEL: @sum
// CHECK: %[[ANY:.*]] = arith.cmpi slt, %c0_i32, %arg2
// CHECK: %[[MASK:.*]] = tile.splat %[[ANY]]
// CHECK: %[[FIRST:.*]] = tile.load %{{.*}} mask %[[MASK]]
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[NOW:.*]] = %[[FIRST]])
// CHECK: %[[LEFT:.*]] = arith.subi %arg2, %[[I]]
// CHECK: %[[RUNS:.*]] = arith.cmpi ugt, %[[LEFT]], %c128_i32
// CHECK: %[[NEXT:.*]] = tile.load %{{.*}} mask
// CHECK-NOT: tile.load
// CHECK: %[[SUM:.*]] = arith.addf %[[ACC]], %[[NOW]]
// CHECK: scf.yield %[[SUM]], %[[NEXT]]
func.func @sum(%x: !tile.ptr<f32> {tile.name = "x"}, %y: !tile.ptr<f32> {tile.name = "y"}, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 128 : i32
  %none = arith.constant dense<0.0> : tensor<128xf32>
  %o = tile.arange 0 to 128 : tensor<128xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %sum = scf.for %i = %zero to %n step %step iter_args(%acc = %none) -> tensor<128xf32> : i32 {
    %is = tile.splat %i : i32 -> tensor<128xi32>
    %at = arith.addi %is, %o : tensor<128xi32>
    %p = tile.addptr %xs, %at : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    %v = tile.load %p : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
    %next = arith.addf %acc, %v : tensor<128xf32>
    scf.yield %next : tensor<128xf32>
  } {tile.num_stages = 2 : i32}
  %q = tile.addptr %ys, %o : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %q, %sum : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}
