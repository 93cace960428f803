// RUN: nereid-opt %s --tile-fold-addends | FileCheck %s

// CHECK-LABEL: @sum
// CHECK: %[[C:.*]] = arith.mulf %arg2, %arg2
// CHECK-NEXT: %[[SUM:.*]] = tile.dot %arg0, %arg1, %[[C]]
// CHECK-NEXT: return %[[SUM]]
func.func @sum(%a: tensor<16x32xf16>, %b: tensor<32x16xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %r = tile.dot %a, %b, %zero : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
  %scaled = arith.mulf %c, %c : tensor<16x16xf32>
  %sum = arith.addf %scaled, %r : tensor<16x16xf32>
  return %sum : tensor<16x16xf32>
}

// CHECK-LABEL: @integers
// CHECK: tile.dot %arg0, %arg1, %arg2
func.func @integers(%a: tensor<16x32xi8>, %b: tensor<32x16xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  %zero = arith.constant dense<0> : tensor<16x16xi32>
  %r = tile.dot %a, %b, %zero : tensor<16x32xi8>, tensor<32x16xi8> -> tensor<16x16xi32>
  %sum = arith.addi %r, %c : tensor<16x16xi32>
  return %sum : tensor<16x16xi32>
}

// A sum of fp8 products on tensor cores has fewer bits than one in f32.
// CHECK-LABEL: @fp8
// CHECK: tile.dot
// CHECK: arith.addf
func.func @fp8(%a: tensor<16x32xf8E5M2>, %b: tensor<32x16xf8E5M2>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %r = tile.dot %a, %b, %zero : tensor<16x32xf8E5M2>, tensor<32x16xf8E5M2> -> tensor<16x16xf32>
  %sum = arith.addf %c, %r : tensor<16x16xf32>
  return %sum : tensor<16x16xf32>
}

// The product itself is wanted too.
// CHECK-LABEL: @seen
// CHECK: arith.addf
func.func @seen(%a: tensor<16x32xf16>, %b: tensor<32x16xf16>, %c: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %r = tile.dot %a, %b, %zero : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
  %sum = arith.addf %c, %r : tensor<16x16xf32>
  return %sum, %r : tensor<16x16xf32>, tensor<16x16xf32>
}

// A product is not moved into a loop.
// CHECK-LABEL: @loop
// CHECK: tile.dot
// CHECK: scf.for
// CHECK: arith.addf
func.func @loop(%a: tensor<16x32xf16>, %b: tensor<32x16xf16>, %c: tensor<16x16xf32>, %n: index) -> tensor<16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %start = arith.constant 0 : index
  %step = arith.constant 1 : index
  %r = tile.dot %a, %b, %zero : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
  %sum = scf.for %i = %start to %n step %step iter_args(%acc = %c) -> tensor<16x16xf32> {
    %next = arith.addf %acc, %r : tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  return %sum : tensor<16x16xf32>
}
