// RUN: nereid-opt %s --tile-drop-unit-dims | FileCheck %s

// CHECK-LABEL: @load
// CHECK: %[[TILE:.*]] = tile.desc_load %arg0[%arg1, %arg1, %arg1, %arg1] : <1x1x16x32xf16> -> tensor<16x32xf16>
// CHECK-NEXT: return %[[TILE]], %[[TILE]]
func.func @load(%d: !tile.desc<1x1x16x32xf16>, %i: i32) -> (tensor<16x32xf16>, tensor<16x32xf16>) {
  %block = tile.desc_load %d[%i, %i, %i, %i] : <1x1x16x32xf16> -> tensor<1x1x16x32xf16>
  %a = tile.reshape %block : tensor<1x1x16x32xf16> -> tensor<16x32xf16>
  %b = tile.reshape %block : tensor<1x1x16x32xf16> -> tensor<16x32xf16>
  return %a, %b : tensor<16x32xf16>, tensor<16x32xf16>
}

// Someone wants the block as it is, or another shape.
// CHECK-LABEL: @stays
// CHECK: tile.desc_load {{.*}} -> tensor<1x16x32xf16>
// CHECK: tile.desc_load {{.*}} -> tensor<1x16x32xf16>
// CHECK: tile.desc_load {{.*}} -> tensor<2x16x32xf16>
func.func @stays(%d: !tile.desc<1x16x32xf16>, %deep: !tile.desc<2x16x32xf16>, %i: i32)
    -> (tensor<16x32xf16>, tensor<1x16x32xf16>, tensor<32x16xf16>, tensor<32x32xf16>) {
  %one = tile.desc_load %d[%i, %i, %i] : <1x16x32xf16> -> tensor<1x16x32xf16>
  %a = tile.reshape %one : tensor<1x16x32xf16> -> tensor<16x32xf16>
  %two = tile.desc_load %d[%i, %i, %i] : <1x16x32xf16> -> tensor<1x16x32xf16>
  %b = tile.reshape %two : tensor<1x16x32xf16> -> tensor<32x16xf16>
  %three = tile.desc_load %deep[%i, %i, %i] : <2x16x32xf16> -> tensor<2x16x32xf16>
  %c = tile.reshape %three : tensor<2x16x32xf16> -> tensor<32x32xf16>
  return %a, %one, %b, %c : tensor<16x32xf16>, tensor<1x16x32xf16>, tensor<32x16xf16>, tensor<32x32xf16>
}

// CHECK-LABEL: @store
// CHECK: tile.desc_store %arg0[{{.*}}], %arg1
// CHECK: tile.desc_store %arg0[{{.*}}], %arg1
func.func @store(%d: !tile.desc<1x1x16x32xf16>, %tile: tensor<16x32xf16>, %i: i32) {
  %block = tile.reshape %tile : tensor<16x32xf16> -> tensor<1x1x16x32xf16>
  tile.desc_store %d[%i, %i, %i, %i], %block : <1x1x16x32xf16>, tensor<1x1x16x32xf16>
  %deep = tile.expand_dims %tile axis 0 : tensor<16x32xf16> -> tensor<1x16x32xf16>
  %deeper = tile.expand_dims %deep axis 0 : tensor<1x16x32xf16> -> tensor<1x1x16x32xf16>
  tile.desc_store %d[%i, %i, %i, %i], %deeper : <1x1x16x32xf16>, tensor<1x1x16x32xf16>
  return
}

// Conversions of what had fewer dimensions are made of that; one that someone else wants too stays.
// CHECK-LABEL: @converted
// CHECK: %[[HALVES:.*]] = arith.truncf %arg1 : tensor<16x32xf32> to tensor<16x32xf16>
// CHECK: tile.desc_store %arg0[{{.*}}], %[[HALVES]] : <1x16x32xf16>, tensor<16x32xf16>
// CHECK: tile.desc_store %arg0[{{.*}}], %{{.*}} : <1x16x32xf16>, tensor<1x16x32xf16>
func.func @converted(%d: !tile.desc<1x16x32xf16>, %tile: tensor<16x32xf32>, %i: i32) -> tensor<1x16x32xf16> {
  %block = tile.reshape %tile : tensor<16x32xf32> -> tensor<1x16x32xf32>
  %halves = arith.truncf %block : tensor<1x16x32xf32> to tensor<1x16x32xf16>
  tile.desc_store %d[%i, %i, %i], %halves : <1x16x32xf16>, tensor<1x16x32xf16>
  %both = arith.truncf %block : tensor<1x16x32xf32> to tensor<1x16x32xf16>
  tile.desc_store %d[%i, %i, %i], %both : <1x16x32xf16>, tensor<1x16x32xf16>
  return %both : tensor<1x16x32xf16>
}
