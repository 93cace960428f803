// RUN: nereid-opt %s --tile-peel-first-step --canonicalize | FileCheck %s

// The first step starts the sum; the loop begins with the second one and asks nothing.
// CHECK-LABEL: @first
// CHECK: %[[STEP:.*]] = arith.constant 64 : i32
// CHECK-NOT: scf.if
// CHECK: tile.load
// CHECK: scf.for %{{.*}} = %[[STEP]] to
// CHECK-NOT: scf.if
// CHECK: tile.load
// CHECK: arith.mulf
// CHECK: return
func.func @first(%p: tensor<64x!tile.ptr<f32>>, %zero: tensor<64xf32>, %out: tensor<64x!tile.ptr<f32>>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c256 = arith.constant 256 : i32
  %sum = scf.for %i = %c0 to %c256 step %c64 iter_args(%s = %zero) -> tensor<64xf32> : i32 {
    %x = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
    %is_first = arith.cmpi eq, %i, %c0 : i32
    %next = scf.if %is_first -> tensor<64xf32> {
      scf.yield %x : tensor<64xf32>
    } else {
      %m = arith.mulf %s, %x : tensor<64xf32>
      scf.yield %m : tensor<64xf32>
    }
    scf.yield %next : tensor<64xf32>
  }
  tile.store %out, %sum : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// Another step than the first, an end that is not known, or one step alone: the loop stays.
// CHECK-LABEL: @second
// CHECK: %[[C0:.*]] = arith.constant 0 : i32
// CHECK: scf.for %{{.*}} = %[[C0]] to
// CHECK: scf.if
func.func @second(%zero: f32, %one: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c256 = arith.constant 256 : i32
  %sum = scf.for %i = %c0 to %c256 step %c64 iter_args(%s = %zero) -> f32 : i32 {
    %is = arith.cmpi eq, %i, %c64 : i32
    %next = scf.if %is -> f32 {
      scf.yield %one : f32
    } else {
      %m = arith.mulf %s, %one : f32
      scf.yield %m : f32
    }
    scf.yield %next : f32
  }
  return %sum : f32
}
// CHECK-LABEL: @open
// CHECK: scf.for
// CHECK: scf.if
func.func @open(%zero: f32, %one: f32, %n: i32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %sum = scf.for %i = %c0 to %n step %c64 iter_args(%s = %zero) -> f32 : i32 {
    %is = arith.cmpi sgt, %i, %c0 : i32
    %next = scf.if %is -> f32 {
      %m = arith.mulf %s, %one : f32
      scf.yield %m : f32
    } else {
      scf.yield %one : f32
    }
    scf.yield %next : f32
  }
  return %sum : f32
}
