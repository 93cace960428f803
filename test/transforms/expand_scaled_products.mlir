// RUN: nereid-opt %s --tile-expand-scaled-products | FileCheck %s
// RUN: nereid-opt %s --tile-expand-scaled-products=to-halves=1 | FileCheck %s --check-prefix=HALF

// Pairs along K come apart; a scale stands for 32 elements along K, of the right operand column by
// column.
// CHECK-LABEL: @packed
// CHECK-DAG: tile.join %{{.*}} : tensor<16x32xf32> -> tensor<16x32x2xf32>
// CHECK-DAG: tile.reshape %{{.*}} : tensor<16x32x2xf32> -> tensor<16x64xf32>
// CHECK-DAG: tile.broadcast %{{.*}} : tensor<16x2x1xf32> -> tensor<16x2x32xf32>
// CHECK: tile.join %{{.*}} : tensor<32x8xf32> -> tensor<32x8x2xf32>
// CHECK: tile.trans %{{.*}} [0, 2, 1] : tensor<32x8x2xf32> -> tensor<32x2x8xf32>
// CHECK: tile.reshape %{{.*}} : tensor<32x2x8xf32> -> tensor<64x8xf32>
// CHECK: tile.trans %{{.*}} [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
// CHECK: tile.dot %{{.*}} : tensor<16x64xf32>, tensor<64x8xf32> -> tensor<16x8xf32>
// HALF-LABEL: @packed
// HALF: tile.dot %{{.*}} : tensor<16x64xbf16>, tensor<64x8xbf16> -> tensor<16x8xf32>
func.func @packed(%a: tensor<16x32xi8>, %as: tensor<16x2xi8>, %b: tensor<32x8xi8>, %bs: tensor<8x2xi8>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %r = tile.dot_scaled %a scale %as : tensor<16x2xi8> <e2m1>, %b scale %bs : tensor<8x2xi8> <e2m1>, %c packed true true : tensor<16x32xi8>, tensor<32x8xi8> -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// An operand without a scale is not touched; f16 beside it makes the product one of f16.
// CHECK-LABEL: @mixed
// CHECK-NOT: arith.mulf
// CHECK: tile.dot
// HALF-LABEL: @mixed
// HALF: tile.dot %arg0, %{{.*}} : tensor<16x64xf16>, tensor<64x8xf16> -> tensor<16x8xf32>
func.func @mixed(%a: tensor<16x64xf16>, %b: tensor<64x8xf8E5M2>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %r = tile.dot_scaled %a <fp16>, %b <e5m2>, %c packed true true : tensor<16x64xf16>, tensor<64x8xf8E5M2> -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// Scales of 8-bit floats stand for themselves, each for 16 elements.
// CHECK-LABEL: @by_floats
// CHECK: %[[SCALES:.*]] = tile.fp_convert %arg1
// CHECK: tile.expand_dims %[[SCALES]]
// CHECK: tile.broadcast %{{.*}} : tensor<16x4x1xf32> -> tensor<16x4x16xf32>
// CHECK: tile.reshape %{{.*}} : tensor<16x4x16xf32> -> tensor<16x64xf32>
// HALF-LABEL: @by_floats
// HALF: tile.dot %{{.*}} : tensor<16x64xbf16>, tensor<64x8xbf16> -> tensor<16x8xf32>
func.func @by_floats(%a: tensor<16x32xi8>, %as: tensor<16x4xf8E4M3FN>, %b: tensor<64x8xf8E4M3FN>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %r = tile.dot_scaled %a scale %as : tensor<16x4xf8E4M3FN> <e2m1>, %b <e4m3>, %c packed true true : tensor<16x32xi8>, tensor<64x8xf8E4M3FN> -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}
