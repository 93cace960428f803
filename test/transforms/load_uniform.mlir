// RUN: nereid-opt %s --tile-load-uniform | FileCheck %s

// One page for all tokens of a step: its number is loaded as a number.
// CHECK-LABEL: func.func @page
// CHECK: scf.for %[[J:.*]] =
// CHECK: %[[FIRST:.*]] = arith.muli %[[J]], %c16_i32
// CHECK: tile.divsi
// CHECK: %[[PAGE:.*]] = tile.load %{{.*}} : !tile.ptr<i32> -> i32
// CHECK: tile.splat %[[PAGE]] : i32 -> tensor<16xi32>
func.func @page(%table: !tile.ptr<i32>, %out: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %c16_i32 = arith.constant 16 : i32
  %size = tile.splat %c16_i32 : i32 -> tensor<16xi32>
  %range = tile.arange 0 to 16 : tensor<16xi32>
  %tables = tile.splat %table : !tile.ptr<i32> -> tensor<16x!tile.ptr<i32>>
  %outs = tile.splat %out : !tile.ptr<i32> -> tensor<16x!tile.ptr<i32>>
  %to = tile.addptr %outs, %range : tensor<16x!tile.ptr<i32>>, tensor<16xi32>
  scf.for %j = %c0_i32 to %n step %c1_i32 : i32 {
    %first = arith.muli %j, %c16_i32 : i32
    %firsts = tile.splat %first : i32 -> tensor<16xi32>
    %token = arith.addi %firsts, %range : tensor<16xi32>
    %which = tile.divsi %token, %size : tensor<16xi32>
    %at = tile.addptr %tables, %which : tensor<16x!tile.ptr<i32>>, tensor<16xi32>
    %page = tile.load %at : tensor<16x!tile.ptr<i32>> -> tensor<16xi32>
    tile.store %to, %page : tensor<16x!tile.ptr<i32>>, tensor<16xi32>
  }
  return
}

// Volatile, or under a mask that differs: as it was.
// CHECK-LABEL: func.func @others
// CHECK: tile.load %{{.*}} volatile : tensor
// CHECK: tile.load %{{.*}} mask %{{.*}} : tensor<16xi1> : tensor
func.func @others(%x: !tile.ptr<i32>, %out: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
  %range = tile.arange 0 to 16 : tensor<16xi32>
  %bound = tile.splat %n : i32 -> tensor<16xi32>
  %mask = arith.cmpi slt, %range, %bound : tensor<16xi32>
  %xs = tile.splat %x : !tile.ptr<i32> -> tensor<16x!tile.ptr<i32>>
  %outs = tile.splat %out : !tile.ptr<i32> -> tensor<16x!tile.ptr<i32>>
  %to = tile.addptr %outs, %range : tensor<16x!tile.ptr<i32>>, tensor<16xi32>
  %a = tile.load %xs volatile : tensor<16x!tile.ptr<i32>> -> tensor<16xi32>
  %b = tile.load %xs mask %mask : tensor<16xi1> : tensor<16x!tile.ptr<i32>> -> tensor<16xi32>
  %sum = arith.addi %a, %b : tensor<16xi32>
  tile.store %to, %sum : tensor<16x!tile.ptr<i32>>, tensor<16xi32>
  return
}
