// RUN: nereid-opt %s --tile-fold-sums | FileCheck %s

// CHECK-LABEL: @loop
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}})
// CHECK: %[[DOT:.*]] = tile.dot %arg0, %arg1, %[[SUM]]
// CHECK-NEXT: scf.yield %[[DOT]]
func.func @loop(%a: tensor<16x32xf16>, %b: tensor<32x16xf16>, %n: i32) -> tensor<16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %0 = arith.constant 0 : i32
  %1 = arith.constant 1 : i32
  %r = scf.for %i = %0 to %n step %1 iter_args(%sum = %zero) -> tensor<16x16xf32> : i32 {
    %dot = tile.dot %a, %b, %zero : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
    %next = arith.addf %sum, %dot : tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  return %r : tensor<16x16xf32>
}

// What is added may come behind the product, or be one.
// CHECK-LABEL: @two
// CHECK: %[[X:.*]] = arith.negf %arg2
// CHECK: %[[FIRST:.*]] = tile.dot %arg0, %arg1, %[[X]]
// CHECK: %[[SECOND:.*]] = tile.dot %arg0, %arg1, %[[FIRST]]
// CHECK-NEXT: return %[[SECOND]]
func.func @two(%a: tensor<16x32xf16>, %b: tensor<32x16xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %p = tile.dot %a, %b, %zero : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
  %q = tile.dot %a, %b, %zero : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
  %x = arith.negf %c : tensor<16x16xf32>
  %s = arith.addf %p, %x : tensor<16x16xf32>
  %t = arith.addf %s, %q : tensor<16x16xf32>
  return %t : tensor<16x16xf32>
}

// CHECK-LABEL: @integers
// CHECK: %[[DOT:.*]] = tile.dot %arg0, %arg1, %arg2
// CHECK-NEXT: return %[[DOT]]
func.func @integers(%a: tensor<16x32xi8>, %b: tensor<32x16xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  %zero = arith.constant dense<0> : tensor<16x16xi32>
  %p = tile.dot %a, %b, %zero : tensor<16x32xi8>, tensor<32x16xi8> -> tensor<16x16xi32>
  %s = arith.addi %c, %p : tensor<16x16xi32>
  return %s : tensor<16x16xi32>
}

// Not those of 8-bit floats, those rounded to halves, those that somebody else wants, those with a sum of their own.
// CHECK-LABEL: @apart
// CHECK-COUNT-4: tile.dot
// CHECK-COUNT-4: arith.addf
func.func @apart(%a8: tensor<16x32xf8E4M3FN>, %b8: tensor<32x16xf8E4M3FN>, %a: tensor<16x32xf16>, %b: tensor<32x16xf16>,
                 %c: tensor<16x16xf32>, %h: tensor<16x16xf16>)
    -> (tensor<16x16xf32>, tensor<16x16xf16>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %half = arith.constant dense<0.0> : tensor<16x16xf16>
  %p = tile.dot %a8, %b8, %zero : tensor<16x32xf8E4M3FN>, tensor<32x16xf8E4M3FN> -> tensor<16x16xf32>
  %q = tile.dot %a, %b, %half : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf16>
  %r = tile.dot %a, %b, %zero : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
  %s = tile.dot %a, %b, %c : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
  %1 = arith.addf %c, %p : tensor<16x16xf32>
  %2 = arith.addf %h, %q : tensor<16x16xf16>
  %3 = arith.addf %c, %r : tensor<16x16xf32>
  %4 = arith.addf %c, %s : tensor<16x16xf32>
  return %1, %2, %3, %4, %r : tensor<16x16xf32>, tensor<16x16xf16>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
