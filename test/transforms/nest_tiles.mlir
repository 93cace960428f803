// RUN: nereid-opt %s --tile-nest-tiles --canonicalize --cse | FileCheck %s

// A product over all tiles of a program: the counter, the branches and the sum between tiles are
// gone, and nothing that is loaded is reached through `%c`.
// CHECK-LABEL: @product
// CHECK-SAME: %[[K:[a-z0-9]+]]: i32, %[[TILES:[a-z0-9]+]]: i32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[K]], %[[ZERO]]
// CHECK: %[[TRIPS:.*]] = arith.select %[[ANY]], %[[TILES]], %[[ZERO]]
// CHECK: scf.for %{{.*}} = %[[ZERO]] to %[[TRIPS]] step %{{.*}} iter_args(%[[ID:.*]] = %{{.*}}) -> (i32)
// CHECK: %[[NEXT:.*]] = arith.addi %[[ID]], %{{.*}}
// CHECK: %[[SUM:.*]] = scf.for %[[STEP:.*]] = %[[ZERO]] to %[[K]] {{.*}} iter_args(%[[ACC:.*]] = %[[NONE]])
// CHECK: arith.muli %[[NEXT]]
// CHECK: arith.addi %{{.*}}, %[[STEP]]
// CHECK: tile.load
// CHECK: tile.dot %{{.*}}, %{{.*}}, %[[ACC]]
// CHECK-NOT: scf.if
// CHECK: tile.store %{{.*}}, %[[SUM]]
// CHECK: scf.yield %[[NEXT]] : i32
// CHECK: tile.flatten
func.func @product(%a: !tile.ptr<f32>, %c: !tile.ptr<f32>, %k: i32, %tiles: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %m1 = arith.constant -1 : i32
  %c132 = arith.constant 132 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %pid = tile.program_id 0
  %all = arith.muli %k, %tiles : i32
  %before = arith.subi %k, %c1 : i32
  %r:3 = scf.for %i = %c0 to %all step %c1 iter_args(%counter = %m1, %id = %pid, %acc = %zero) -> (i32, i32, tensor<16x16xf32>) : i32 {
    %ends = arith.cmpi eq, %counter, %before : i32
    %more = arith.addi %counter, %c1 : i32
    %step = arith.select %ends, %c0, %more : i32
    %starts = arith.cmpi eq, %step, %c0 : i32
    %tile = scf.if %starts -> i32 {
      %n = arith.addi %id, %c132 : i32
      scf.yield %n : i32
    } else {
      scf.yield %id : i32
    }
    %row = arith.muli %tile, %k : i32
    %at = arith.addi %row, %step : i32
    %p = tile.addptr %a, %at : !tile.ptr<f32>, i32
    %x = tile.load %p : !tile.ptr<f32> -> f32
    %t = tile.splat %x : f32 -> tensor<16x16xf32>
    %sum = tile.dot %t, %t, %acc precision <tf32> : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %last = arith.subi %k, %c1 : i32
    %leaves = arith.cmpi eq, %step, %last : i32
    %left = scf.if %leaves -> tensor<16x16xf32> {
      %q = tile.addptr %c, %tile : !tile.ptr<f32>, i32
      %to = tile.splat %q : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>
      tile.store %to, %sum : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32>
      scf.yield %zero : tensor<16x16xf32>
    } else {
      scf.yield %sum : tensor<16x16xf32>
    }
    scf.yield %step, %tile, %left : i32, i32, tensor<16x16xf32>
  }
  return
}

// Steps that write stay as they are: a loop of no tile and one of fewer than none would differ.
// CHECK-LABEL: @writes
// CHECK-NOT: tile.flatten
// CHECK: scf.if
func.func @writes(%a: !tile.ptr<f32>, %k: i32, %tiles: i32, %x: f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %m1 = arith.constant -1 : i32
  %all = arith.muli %k, %tiles : i32
  %before = arith.subi %k, %c1 : i32
  %r = scf.for %i = %c0 to %all step %c1 iter_args(%counter = %m1) -> (i32) : i32 {
    %ends = arith.cmpi eq, %counter, %before : i32
    %more = arith.addi %counter, %c1 : i32
    %step = arith.select %ends, %c0, %more : i32
    tile.store %a, %x : !tile.ptr<f32>, f32
    %leaves = arith.cmpi eq, %step, %before : i32
    scf.if %leaves {
      tile.store %a, %x : !tile.ptr<f32>, f32
    }
    scf.yield %step : i32
  }
  return
}
