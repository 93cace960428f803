// RUN: nereid-opt %s --tile-unswitch-products --canonicalize | FileCheck %s

// The condition says nothing of the step: a loop loads without branches where it holds.
// CHECK-LABEL: @invariant
// CHECK: %[[ALL:.*]] = arith.cmpi sgt
// CHECK: scf.if
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: tile.dot
// CHECK: } else {
// CHECK: scf.for
// CHECK: scf.if
func.func @invariant(%p: tensor<16x16x!tile.ptr<f16>>, %zero: tensor<16x16xf32>, %n: i32, %out: tensor<16x16x!tile.ptr<f32>>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<16x16xf32> : i32 {
    %c16 = arith.constant 16 : i32
    %some = arith.cmpi sgt, %n, %c16 : i32
    %next = scf.if %some -> tensor<16x16xf32> {
      %a = tile.load %p : tensor<16x16x!tile.ptr<f16>> -> tensor<16x16xf16>
      %d = tile.dot %a, %a, %s : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
      scf.yield %d : tensor<16x16xf32>
    } else {
      scf.yield %s : tensor<16x16xf32>
    }
    scf.yield %next : tensor<16x16xf32>
  }
  tile.store %out, %sum : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32>
  return
}

// The step decides: one loop.
// CHECK-LABEL: @of_step
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NOT: scf.for
func.func @of_step(%p: tensor<16x16x!tile.ptr<f16>>, %zero: tensor<16x16xf32>, %n: i32, %out: tensor<16x16x!tile.ptr<f32>>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<16x16xf32> : i32 {
    %some = arith.cmpi sgt, %i, %c1 : i32
    %next = scf.if %some -> tensor<16x16xf32> {
      %a = tile.load %p : tensor<16x16x!tile.ptr<f16>> -> tensor<16x16xf16>
      %d = tile.dot %a, %a, %s : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
      scf.yield %d : tensor<16x16xf32>
    } else {
      scf.yield %s : tensor<16x16xf32>
    }
    scf.yield %next : tensor<16x16xf32>
  }
  tile.store %out, %sum : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32>
  return
}
