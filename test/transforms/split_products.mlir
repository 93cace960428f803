// RUN: nereid-opt %s --tile-split-products | FileCheck %s

// CHECK-LABEL: @tf32x3
// CHECK: arith.andi
// CHECK: arith.subf
// CHECK: tile.dot %[[AH:.*]], %[[BL:.*]], %arg2 precision <tf32>
// CHECK: tile.dot %[[AL:.*]], %[[BH:.*]], %{{.*}} precision <tf32>
// CHECK: tile.dot %[[AH]], %[[BH]], %{{.*}} precision <tf32>
// CHECK-NOT: tile.dot
// CHECK: return
func.func @tf32x3(%a: tensor<16x32xf32>, %b: tensor<32x16xf32>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %r = tile.dot %a, %b, %c precision <tf32x3> : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}

// CHECK-LABEL: @bf16x6
// CHECK-COUNT-6: tile.dot {{.*}} : tensor<16x32xbf16>, tensor<32x16xbf16> -> tensor<16x16xf32>
// CHECK-NOT: tile.dot
// CHECK: return
func.func @bf16x6(%a: tensor<16x32xf32>, %b: tensor<32x16xf32>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %r = tile.dot %a, %b, %c precision <bf16x6> : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}

// CHECK-LABEL: @f16_sums_of_f8
// CHECK: %[[WIDE:.*]] = arith.extf %arg2
// CHECK: %[[SUM:.*]] = tile.dot %arg0, %arg1, %[[WIDE]] : {{.*}} -> tensor<16x16xf32>
// CHECK: arith.truncf %[[SUM]]
func.func @f16_sums_of_f8(%a: tensor<16x32xf8E5M2>, %b: tensor<32x16xf8E5M2>, %c: tensor<16x16xf16>) -> tensor<16x16xf16> {
  %r = tile.dot %a, %b, %c : tensor<16x32xf8E5M2>, tensor<32x16xf8E5M2> -> tensor<16x16xf16>
  return %r : tensor<16x16xf16>
}

// Others stay.
// CHECK-LABEL: @f16_sums
// CHECK-NEXT: tile.dot %arg0, %arg1, %arg2
func.func @f16_sums(%a: tensor<16x32xf16>, %b: tensor<32x16xf16>, %c: tensor<16x16xf16>) -> tensor<16x16xf16> {
  %r = tile.dot %a, %b, %c : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf16>
  return %r : tensor<16x16xf16>
}

// CHECK-LABEL: @ieee
// CHECK-NEXT: tile.dot %arg0, %arg1, %arg2
func.func @ieee(%a: tensor<16x32xf32>, %b: tensor<32x16xf32>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %r = tile.dot %a, %b, %c precision <ieee> : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}
