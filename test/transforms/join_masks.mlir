// RUN: nereid-opt %s --tile-join-masks --canonicalize | FileCheck %s
// Masks of rows meet, wherever those of columns and of the tile stand between them.

// CHECK-LABEL: func @tile(
// CHECK-SAME: %[[A:.*]]: tensor<8x1xi1>, %[[B:.*]]: tensor<1x16xi1>, %[[C:.*]]: tensor<8x1xi1>, %[[D:.*]]: tensor<8x16xi1>
// CHECK:      %[[ROWS:.*]] = arith.andi %[[A]], %[[C]] : tensor<8x1xi1>
// CHECK-NEXT: %[[R:.*]] = tile.broadcast %[[ROWS]]
// CHECK-NEXT: %[[COLUMNS:.*]] = tile.broadcast %[[B]]
// CHECK-NEXT: %[[BOTH:.*]] = arith.andi %[[R]], %[[COLUMNS]]
// CHECK-NEXT: %[[ALL:.*]] = arith.andi %[[BOTH]], %[[D]]
// CHECK-NEXT: return %[[ALL]]
func.func @tile(%a: tensor<8x1xi1>, %b: tensor<1x16xi1>, %c: tensor<8x1xi1>, %d: tensor<8x16xi1>) -> tensor<8x16xi1> {
  %0 = tile.broadcast %a : tensor<8x1xi1> -> tensor<8x16xi1>
  %1 = tile.broadcast %b : tensor<1x16xi1> -> tensor<8x16xi1>
  %2 = tile.broadcast %c : tensor<8x1xi1> -> tensor<8x16xi1>
  %3 = arith.andi %0, %1 : tensor<8x16xi1>
  %4 = arith.andi %3, %d : tensor<8x16xi1>
  %5 = arith.andi %4, %2 : tensor<8x16xi1>
  return %5 : tensor<8x16xi1>
}

// A mask that somebody else reads stays.

// CHECK-LABEL: func @shared(
// CHECK:      %[[BOTH:.*]] = arith.andi %{{.*}}, %{{.*}} : tensor<8x16xi1>
// CHECK-NEXT: %[[ALL:.*]] = arith.andi %[[BOTH]], %{{.*}} : tensor<8x16xi1>
// CHECK-NEXT: return %[[BOTH]], %[[ALL]]
func.func @shared(%a: tensor<8x1xi1>, %b: tensor<1x16xi1>, %c: tensor<8x1xi1>) -> (tensor<8x16xi1>, tensor<8x16xi1>) {
  %0 = tile.broadcast %a : tensor<8x1xi1> -> tensor<8x16xi1>
  %1 = tile.broadcast %b : tensor<1x16xi1> -> tensor<8x16xi1>
  %2 = tile.broadcast %c : tensor<8x1xi1> -> tensor<8x16xi1>
  %3 = arith.andi %0, %1 : tensor<8x16xi1>
  %4 = arith.andi %3, %2 : tensor<8x16xi1>
  return %3, %4 : tensor<8x16xi1>, tensor<8x16xi1>
}

// CHECK-LABEL: func @numbers(
// CHECK-COUNT-2: arith.andi %{{.*}} : tensor<8x16xi32>
func.func @numbers(%a: tensor<8x1xi32>, %b: tensor<1x16xi32>, %c: tensor<8x1xi32>) -> tensor<8x16xi32> {
  %0 = tile.broadcast %a : tensor<8x1xi32> -> tensor<8x16xi32>
  %1 = tile.broadcast %b : tensor<1x16xi32> -> tensor<8x16xi32>
  %2 = tile.broadcast %c : tensor<8x1xi32> -> tensor<8x16xi32>
  %3 = arith.andi %0, %1 : tensor<8x16xi32>
  %4 = arith.andi %3, %2 : tensor<8x16xi32>
  return %4 : tensor<8x16xi32>
}
