// RUN: nereid-opt %s -split-input-file -verify-diagnostics

// What the verifiers refuse, one op each.

func.func @arange() {
  // expected-error @+1 {{range does not fill its result}}
  %0 = tile.arange 0 to 8 : tensor<4xi32>
  return
}
// -----
func.func @splat(%x: i32) {
  // expected-error @+1 {{element type differs from the source}}
  %0 = tile.splat %x : i32 -> tensor<4xi64>
  return
}
// -----
func.func @unsplat(%x: tensor<2xi32>) {
  // expected-error @+1 {{source is not a tile of one element}}
  %0 = tile.unsplat %x : tensor<2xi32> -> i32
  return
}
// -----
func.func @broadcast(%x: tensor<2x4xi32>) {
  // expected-error @+1 {{dimension of size 2 cannot become 8}}
  %0 = tile.broadcast %x : tensor<2x4xi32> -> tensor<8x4xi32>
  return
}
// -----
func.func @expand(%x: tensor<4xi32>) {
  // expected-error @+1 {{result shape does not follow from the source}}
  %0 = tile.expand_dims %x axis 0 : tensor<4xi32> -> tensor<4x1xi32>
  return
}
// -----
func.func @reshape(%x: tensor<4xi32>) {
  // expected-error @+1 {{element counts differ}}
  %0 = tile.reshape %x : tensor<4xi32> -> tensor<2x4xi32>
  return
}
// -----
func.func @trans(%x: tensor<2x4xi32>) {
  // expected-error @+1 {{not a permutation of the source's dimensions}}
  %0 = tile.trans %x [0, 0] : tensor<2x4xi32> -> tensor<2x2xi32>
  return
}
// -----
func.func @join(%x: tensor<4xi32>) {
  // expected-error @+1 {{result type does not follow from the operands}}
  %0 = tile.join %x, %x : tensor<4xi32> -> tensor<2x4xi32>
  return
}
// -----
func.func @split(%x: tensor<2x4xi32>) {
  // expected-error @+1 {{minor dimension is not of size two}}
  %0, %1 = tile.split %x : tensor<2x4xi32> -> tensor<2xi32>
  return
}
// -----
func.func @cat(%x: tensor<4xi32>) {
  // expected-error @+1 {{result does not follow from the operands}}
  %0 = tile.cat %x, %x : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  return
}
// -----
func.func @gather(%x: tensor<4x8xf32>, %i: tensor<2x4xi32>) {
  // expected-error @+1 {{source and indices differ in dimension 0}}
  %0 = tile.gather %x[%i] axis 1 : tensor<4x8xf32>, tensor<2x4xi32> -> tensor<2x4xf32>
  return
}
// -----
func.func @histogram(%x: tensor<8xi32>, %m: tensor<4xi1>) {
  // expected-error @+1 {{mask shape differs from the source}}
  %0 = tile.histogram %x mask %m : tensor<4xi1> : tensor<8xi32> -> tensor<4xi32>
  return
}
// -----
func.func @bitcast(%x: i32) {
  // expected-error @+1 {{widths differ}}
  %0 = tile.bitcast %x : i32 -> f16
  return
}
// -----
func.func @bitcast_pointer(%x: i64) {
  // expected-error @+1 {{pointers are cast to pointers only}}
  %0 = tile.bitcast %x : i64 -> !tile.ptr<f16>
  return
}
// -----
func.func @load(%p: tensor<4x!tile.ptr<f32>>) {
  // expected-error @+1 {{result element differs from the pointee}}
  %0 = tile.load %p : tensor<4x!tile.ptr<f32>> -> tensor<4xf16>
  return
}
// -----
func.func @load_mask(%p: tensor<4x!tile.ptr<f32>>, %m: tensor<8xi1>) {
  // expected-error @+1 {{mask shape differs from the pointers}}
  %0 = tile.load %p mask %m : tensor<8xi1> : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  return
}
// -----
func.func @load_other(%p: tensor<4x!tile.ptr<f32>>, %o: tensor<4xf32>) {
  // expected-error @+1 {{`other` without a mask}}
  %0 = tile.load %p other %o : tensor<4xf32> : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  return
}
// -----
func.func @store(%p: tensor<4x!tile.ptr<f32>>, %v: tensor<8xf32>) {
  // expected-error @+1 {{value shape differs from the pointers}}
  tile.store %p, %v : tensor<4x!tile.ptr<f32>>, tensor<8xf32>
  return
}
// -----
func.func @atomic(%p: !tile.ptr<f32>, %v: f32) {
  // expected-error @+1 {{`and` of 'f32'}}
  %0 = tile.atomic_rmw <and>, <acq_rel>, <gpu>, %p, %v : !tile.ptr<f32>, f32 -> f32
  return
}
// -----
func.func @cas(%p: !tile.ptr<i64>, %v: i32) {
  // expected-error @+1 {{pointee, value and result differ}}
  %0 = tile.atomic_cas <acq_rel>, <gpu>, %p, %v, %v : !tile.ptr<i64>, i32 -> i32
  return
}
// -----
func.func @make_desc(%p: !tile.ptr<f32>, %n: i64) {
  // expected-error @+1 {{shape, strides and block differ in rank}}
  %0 = tile.make_desc %p, [%n], [%n] : !tile.ptr<f32> -> !tile.desc<4x4xf32>
  return
}
// -----
func.func @desc_field(%d: !tile.desc<4x4xf32>) {
  // expected-error @+1 {{dimension 2 of 2}}
  %0 = tile.desc_field %d "shape" 2 : !tile.desc<4x4xf32>
  return
}
// -----
func.func @desc_load(%d: !tile.desc<4x4xf32>, %i: i32) {
  // expected-error @+1 {{has 1 offsets for 2 dimensions}}
  %0 = tile.desc_load %d[%i] : !tile.desc<4x4xf32> -> tensor<4x4xf32>
  return
}
// -----
func.func @desc_gather(%d: !tile.desc<4x4xf32>, %r: tensor<8xi32>, %i: i32) {
  // expected-error @+1 {{takes rows of a block of 1 x n}}
  %0 = tile.desc_gather %d[%r, %i] : !tile.desc<4x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return
}
// -----
// expected-error @+1 {{only floats can be padded with NaN}}
func.func @desc_nan(%d: !tile.desc<4x4xi32, nan>) {
  return
}
// -----
func.func @reduce(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{result does not follow from its source}}
  %0 = tile.reduce (%x) axis 1 : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}
// -----
func.func @reduce_region(%x: tensor<8xf32>) {
  // expected-error @+1 {{combine region gives 2 values}}
  %0 = tile.reduce (%x) axis 0 : (tensor<8xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a, %b : f32, f32
  }
  return
}
// -----
func.func @scan(%x: tensor<8xf32>) {
  // expected-error @+1 {{combine region does not fit its sources}}
  %0 = tile.scan (%x) axis 0 : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: f32, %b: f16):
    tile.yield %a : f32
  }
  return
}
// -----
func.func @map(%x: tensor<8xf32>) {
  // expected-error @+1 {{packs of 3 do not fill 8 elements}}
  %0 = tile.map pack 3 (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: f32, %b: f32, %c: f32):
    tile.yield %a, %b, %c : f32, f32, f32
  }
  return
}
// -----
func.func @dot(%a: tensor<16x32xf16>, %b: tensor<16x32xf16>, %c: tensor<16x32xf32>) {
  // expected-error @+1 {{shapes do not fit}}
  %0 = tile.dot %a, %b, %c : tensor<16x32xf16>, tensor<16x32xf16> -> tensor<16x32xf32>
  return
}
// -----
func.func @dot_types(%a: tensor<16x16xf16>, %b: tensor<16x16xbf16>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{operands of 'f16' and 'bf16'}}
  %0 = tile.dot %a, %b, %c : tensor<16x16xf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
  return
}
// -----
func.func @dot_sum(%a: tensor<16x16xi8>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{products of 'i8' summed in 'f32'}}
  %0 = tile.dot %a, %a, %c : tensor<16x16xi8>, tensor<16x16xi8> -> tensor<16x16xf32>
  return
}
// -----
func.func @dot_scaled(%a: tensor<16x32xi8>, %b: tensor<32x16xi8>, %s: tensor<16x4xi8>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{scales are bytes or f8E4M3FN, one for 16 or 32 elements along K}}
  %0 = tile.dot_scaled %a scale %s : tensor<16x4xi8> <e4m3>, %b <e4m3>, %c packed true true : tensor<16x32xi8>, tensor<32x16xi8> -> tensor<16x16xf32>
  return
}
// -----
func.func @dot_scaled_by_floats(%a: tensor<16x32xi8>, %b: tensor<32x16xi8>, %s: tensor<16x4xf8E4M3FN>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{or f8E4M3FN, one for 16 or 32}}
  %0 = tile.dot_scaled %a scale %s : tensor<16x4xf8E4M3FN> <e4m3>, %b <e4m3>, %c packed true true : tensor<16x32xi8>, tensor<32x16xi8> -> tensor<16x16xf32>
  return
}
// -----
func.func @hint(%x: tensor<8xi32>) {
  // expected-error @+1 {{has 2 facts for 1 dimensions}}
  %0 = tile.hint %x {divisibility = array<i64: 8, 8>} : tensor<8xi32>
  return
}
// -----
func.func @print(%x: i32) {
  // expected-error @+1 {{has 0 signs for 1 values}}
  tile.print "x" hex false signed [] : %x : i32
  return
}
