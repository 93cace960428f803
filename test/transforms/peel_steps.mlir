// RUN: nereid-opt %s --tile-peel-steps --canonicalize | FileCheck %s

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

// The last step by itself: loads of all others stand in no branch.
// CHECK-LABEL: @last
// CHECK-SAME: %[[N:[a-z0-9]+]]: i32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[STEP:.*]] = arith.constant 64 : i32
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[N]], %[[ZERO]]
// CHECK: %[[BEYOND:.*]] = arith.remui %{{.*}}, %[[STEP]]
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %[[BEYOND]]
// CHECK: %[[END:.*]] = arith.select %[[ANY]], %[[LAST]], %[[ZERO]]
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %[[ZERO]] to %[[END]]
// CHECK-NOT: scf.if
// CHECK: tile.load
// CHECK-NOT: mask
// CHECK: scf.yield
// CHECK: scf.if %[[ANY]]
// CHECK: scf.if
// CHECK: tile.load
// CHECK: tile.load %{{.*}} mask
// CHECK: } else {
// CHECK: scf.yield %[[SUM]]
func.func @last(%n: i32, %p: tensor<64x!tile.ptr<f32>>, %zero: tensor<64xf32>, %mask: tensor<64xi1>, %out: tensor<64x!tile.ptr<f32>>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %sum = scf.for %i = %c0 to %n step %c64 iter_args(%s = %zero) -> tensor<64xf32> : i32 {
    %end = arith.addi %i, %c64 : i32
    %whole = arith.cmpi sge, %n, %end : i32
    %x = scf.if %whole -> tensor<64xf32> {
      %x = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
      scf.yield %x : tensor<64xf32>
    } else {
      %x = tile.load %p mask %mask : tensor<64xi1> : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
      scf.yield %x : tensor<64xf32>
    }
    %next = arith.addf %s, %x : tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  tile.store %out, %sum : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// A step before the last one asks too, a step loads nothing but in the last one, or the question is
// of another end: the loop stays.
// CHECK-LABEL: @early
// CHECK: scf.for %{{.*}} = %{{.*}} to %arg0
// CHECK: scf.if
// CHECK: return
func.func @early(%n: i32, %m: i32, %p: !tile.ptr<f32>, %zero: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %last = arith.subi %n, %c1 : i32
  %second = arith.subi %n, %c2 : i32
  %other = arith.subi %m, %c1 : i32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 : i32 {
    %is_last = arith.cmpi eq, %i, %last : i32
    %a = scf.if %is_last -> f32 {
      %x = tile.load %p : !tile.ptr<f32> -> f32
      scf.yield %x : f32
    } else {
      scf.yield %zero : f32
    }
    %is_second = arith.cmpi slt, %i, %second : i32
    %b = scf.if %is_second -> f32 {
      %x = tile.load %p : !tile.ptr<f32> -> f32
      scf.yield %x : f32
    } else {
      scf.yield %a : f32
    }
    %is_other = arith.cmpi eq, %i, %other : i32
    %c = scf.if %is_other -> f32 {
      scf.yield %a : f32
    } else {
      %x = tile.load %p : !tile.ptr<f32> -> f32
      scf.yield %x : f32
    }
    %bc = arith.addf %b, %c : f32
    %next = arith.addf %s, %bc : f32
    scf.yield %next : f32
  }
  return %sum : f32
}
