// RUN: nereid-opt %s --tile-load-before-branches | FileCheck %s

// The share of the others comes with the number that says whether there is one.
// CHECK-LABEL: @share
// CHECK: %[[COUNT:.*]] = tile.load %arg0
// CHECK: %[[OLD:.*]] = tile.load
// CHECK: scf.if
// CHECK-NEXT: scf.yield %arg3
// CHECK: arith.addf %arg3, %[[OLD]]
func.func @share(%count: !tile.ptr<i32>, %p: !tile.ptr<f32>, %i: i32, %x: f32) {
  %c0 = arith.constant 0 : i32
  %n = tile.load %count : !tile.ptr<i32> -> i32
  %first = arith.cmpi eq, %n, %c0 : i32
  %sum = scf.if %first -> f32 {
    scf.yield %x : f32
  } else {
    %q = tile.addptr %p, %i : !tile.ptr<f32>, i32
    %old = tile.load %q : !tile.ptr<f32> -> f32
    %s = arith.addf %x, %old : f32
    scf.yield %s : f32
  }
  %q = tile.addptr %p, %i : !tile.ptr<f32>, i32
  tile.store %q, %sum : !tile.ptr<f32>, f32
  return
}

// An argument decides: nothing is waited for, and the load may not be needed.
// CHECK-LABEL: @argument
// CHECK: scf.if
// CHECK: tile.load
func.func @argument(%first: i1, %p: !tile.ptr<f32>, %x: f32) {
  %sum = scf.if %first -> f32 {
    scf.yield %x : f32
  } else {
    %old = tile.load %p : !tile.ptr<f32> -> f32
    scf.yield %old : f32
  }
  tile.store %p, %sum : !tile.ptr<f32>, f32
  return
}

// The address may be bad where the branch is not taken.
// CHECK-LABEL: @elsewhere
// CHECK: scf.if
// CHECK: tile.load
func.func @elsewhere(%count: !tile.ptr<i1>, %p: !tile.ptr<f32>, %i: i32, %x: f32) {
  %first = tile.load %count : !tile.ptr<i1> -> i1
  %sum = scf.if %first -> f32 {
    scf.yield %x : f32
  } else {
    %q = tile.addptr %p, %i : !tile.ptr<f32>, i32
    %old = tile.load %q : !tile.ptr<f32> -> f32
    scf.yield %old : f32
  }
  tile.store %p, %sum : !tile.ptr<f32>, f32
  return
}

// Behind a lock that the branch takes itself, and where a path ends before it stores.
// CHECK-LABEL: @behind
// CHECK: scf.if
// CHECK: tile.atomic_rmw
// CHECK: tile.load
// CHECK: scf.if
// CHECK: tile.load
// CHECK: tile.assert
func.func @behind(%count: !tile.ptr<i1>, %lock: !tile.ptr<i32>, %p: !tile.ptr<f32>, %x: f32, %one: i32) {
  %first = tile.load %count : !tile.ptr<i1> -> i1
  %sum = scf.if %first -> f32 {
    scf.yield %x : f32
  } else {
    %taken = tile.atomic_rmw <xchg>, <acq_rel>, <gpu>, %lock, %one : !tile.ptr<i32>, i32 -> i32
    %old = tile.load %p : !tile.ptr<f32> -> f32
    scf.yield %old : f32
  }
  tile.store %p, %sum : !tile.ptr<f32>, f32
  %again = scf.if %first -> f32 {
    scf.yield %x : f32
  } else {
    %old = tile.load %p : !tile.ptr<f32> -> f32
    scf.yield %old : f32
  }
  tile.assert %first, "first" : i1
  tile.store %p, %again : !tile.ptr<f32>, f32
  return
}
