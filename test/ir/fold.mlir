// RUN: nereid-opt %s --canonicalize --cse | FileCheck %s

// Total integer ops fold to what docs/numerics.md says, also where upstream folding would give up.

// By one nothing is divided, and nothing remains.
// CHECK-LABEL: func.func @by_one(
// CHECK-SAME: %[[N:.*]]: i32, %[[TILE:.*]]: tensor<8xi32>
func.func @by_one(%n: i32, %tile: tensor<8xi32>) -> (i32, i32, tensor<8xi32>, tensor<8xi32>) {
  %one = arith.constant 1 : i32
  %ones = arith.constant dense<1> : tensor<8xi32>
  // CHECK-DAG: %[[NONE:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[NONES:.*]] = arith.constant dense<0> : tensor<8xi32>
  %a = tile.divsi %n, %one : i32
  %b = tile.remui %n, %one : i32
  %c = tile.divui %tile, %ones : tensor<8xi32>
  %d = tile.remsi %tile, %ones : tensor<8xi32>
  // CHECK: return %[[N]], %[[NONE]], %[[TILE]], %[[NONES]]
  return %a, %b, %c, %d : i32, i32, tensor<8xi32>, tensor<8xi32>
}

// CHECK-LABEL: func.func @integers
func.func @integers() -> (i32, i32, i32, i32, i32, i32, i32, i32) {
  %zero = arith.constant 0 : i32
  %seven = arith.constant 7 : i32
  %minus = arith.constant -7 : i32
  %two = arith.constant 2 : i32
  %min = arith.constant -2147483648 : i32
  %mone = arith.constant -1 : i32
  %wide = arith.constant 32 : i32
  // CHECK-DAG: %[[M1:.*]] = arith.constant -1 : i32
  // CHECK-DAG: %[[M3:.*]] = arith.constant -3 : i32
  // CHECK-DAG: %[[MIN:.*]] = arith.constant -2147483648 : i32
  // CHECK-DAG: %[[SEVEN:.*]] = arith.constant 7 : i32
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
  %a = tile.divsi %minus, %two : i32
  %b = tile.divsi %seven, %zero : i32
  %c = tile.divsi %min, %mone : i32
  %d = tile.remsi %minus, %two : i32
  %e = tile.remui %seven, %zero : i32
  %f = tile.shl %seven, %wide : i32
  %g = tile.shrs %minus, %wide : i32
  %h = tile.shru %minus, %wide : i32
  // CHECK: return %[[M3]], %[[M1]], %[[MIN]], %[[M1]], %[[SEVEN]], %[[ZERO]], %[[M1]], %[[ZERO]]
  return %a, %b, %c, %d, %e, %f, %g, %h : i32, i32, i32, i32, i32, i32, i32, i32
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %one = arith.constant 1.0 : f32
  // CHECK-DAG: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<8x4xf32>
  %s = tile.splat %one : f32 -> tensor<4xf32>
  %e = tile.expand_dims %s axis 0 : tensor<4xf32> -> tensor<1x4xf32>
  %b = tile.broadcast %e : tensor<1x4xf32> -> tensor<8x4xf32>
  %t = tile.trans %x [0, 1] : tensor<4x4xf32> -> tensor<4x4xf32>
  %r = tile.reshape %x : tensor<4x4xf32> -> tensor<4x4xf32>
  // CHECK: return %[[ONES]], %arg0, %arg0
  return %b, %t, %r : tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func.func @memory
func.func @memory(%p: !tile.ptr<f32>) {
  // Loads may go when nobody reads them, volatile ones stay.
  // CHECK-NEXT: tile.load %arg0 volatile
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: return
  %a = tile.load %p : !tile.ptr<f32> -> f32
  %b = tile.load %p volatile : !tile.ptr<f32> -> f32
  tile.barrier
  return
}
