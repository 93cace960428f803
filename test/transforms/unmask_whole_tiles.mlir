// RUN: nereid-opt %s --split-input-file --tile-unmask-whole-tiles --canonicalize | FileCheck %s

// Of a program whose last place is below the bound nothing is masked.
// CHECK-LABEL: @flat
// CHECK: %[[FIRST:.*]] = arith.muli
// CHECK: %[[LAST:.*]] = arith.addi %[[FIRST]], %c1023_i32
// CHECK-DAG: %[[UP:.*]] = arith.cmpi sle, %[[FIRST]], %[[LAST]]
// CHECK-DAG: %[[BELOW:.*]] = arith.cmpi slt, %[[LAST]], %arg2
// CHECK: %[[WHOLE:.*]] = arith.andi %[[UP]], %[[BELOW]]
// CHECK: scf.if %[[WHOLE]] {
// CHECK: %[[X:.*]] = tile.load
// CHECK-NOT: mask
// CHECK: tile.store
// CHECK-NOT: mask
// CHECK: } else {
// CHECK: tile.load {{.*}} mask
// CHECK: tile.store {{.*}} mask
func.func @flat(%x: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %y: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %n: i32) attributes {tile.kernel} {
  %pid = tile.program_id 0
  %size = arith.constant 1024 : i32
  %start = arith.muli %pid, %size : i32
  %range = tile.arange 0 to 1024 : tensor<1024xi32>
  %starts = tile.splat %start : i32 -> tensor<1024xi32>
  %i = arith.addi %starts, %range : tensor<1024xi32>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %i, %ns : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<1024x!tile.ptr<f16>>
  %px = tile.addptr %xs, %i : tensor<1024x!tile.ptr<f16>>, tensor<1024xi32>
  %v = tile.load %px mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f16>> -> tensor<1024xf16>
  %w = arith.addf %v, %v : tensor<1024xf16>
  %ys = tile.splat %y : !tile.ptr<f16> -> tensor<1024x!tile.ptr<f16>>
  %py = tile.addptr %ys, %i : tensor<1024x!tile.ptr<f16>>, tensor<1024xi32>
  tile.store %py, %w mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f16>>, tensor<1024xf16>
  return
}

// -----

// A multiple of 16 ends no vector in the middle, and a row that is one tile in each program ends in it or nowhere.
// CHECK-LABEL: @multiple
// CHECK-NOT: scf.if
func.func @multiple(%x: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %n: i32 {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %pid = tile.program_id 0
  %size = arith.constant 1024 : i32
  %start = arith.muli %pid, %size : i32
  %range = tile.arange 0 to 1024 : tensor<1024xi32>
  %starts = tile.splat %start : i32 -> tensor<1024xi32>
  %i = arith.addi %starts, %range : tensor<1024xi32>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %i, %ns : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<1024x!tile.ptr<f16>>
  %px = tile.addptr %xs, %i : tensor<1024x!tile.ptr<f16>>, tensor<1024xi32>
  %zero = arith.constant dense<0.0> : tensor<1024xf16>
  tile.store %px, %zero mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f16>>, tensor<1024xf16>
  return
}
