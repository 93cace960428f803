// RUN: nereid-opt %s --tile-carry-offsets --canonicalize | FileCheck %s

// Pointers that move by one amount are computed from a scalar that moves.
// CHECK-LABEL: @walk
// CHECK: %[[FIRST:.*]] = tile.addptr
// CHECK: scf.for {{.*}} iter_args(%[[OFFSET:.*]] = %c0_i64) -> (i64)
// CHECK: %[[MOVED:.*]] = tile.splat %[[OFFSET]] : i64 -> tensor<128xi64>
// CHECK: %[[AT:.*]] = tile.addptr %[[FIRST]], %[[MOVED]]
// CHECK: tile.load %[[AT]]
// CHECK: tile.store %[[AT]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[OFFSET]], %c128_i64 : i64
// CHECK: scf.yield %[[NEXT]] : i64
func.func @walk(%p: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %step = arith.constant dense<128> : tensor<128xi32>
  %o = tile.arange 0 to 128 : tensor<128xi32>
  %s = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %first = tile.addptr %s, %o : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %last = scf.for %i = %zero to %n step %one iter_args(%at = %first) -> tensor<128x!tile.ptr<f32>> : i32 {
    %v = tile.load %at : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
    tile.store %at, %v : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
    %next = tile.addptr %at, %step : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    scf.yield %next : tensor<128x!tile.ptr<f32>>
  }
  return
}
