// RUN: nereid-opt %s --tile-name-extrema | FileCheck %s

// CHECK-LABEL: @greatest
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK: %[[MAX:.*]] = arith.maximumf %[[A]], %[[B]]
// CHECK: tile.yield %[[MAX]]
func.func @greatest(%x: tensor<8xf32>) -> f32 {
  %r = tile.reduce(%x) axis 0 : (tensor<8xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %greater = arith.cmpf ogt, %a, %b : f32
    %nan = arith.cmpf une, %a, %a : f32
    %or = arith.ori %greater, %nan : i1
    %s = arith.select %or, %a, %b : f32
    tile.yield %s : f32
  }
  return %r : f32
}

// The other one of the two, its condition in the other order, and one of a pair's parts.
// CHECK-LABEL: @least_of_pairs
// CHECK: ^bb0(%[[A:.*]]: f16, %{{.*}}: i32, %[[B:.*]]: f16, %{{.*}}: i32):
// CHECK: arith.minimumf %[[A]], %[[B]]
// CHECK: arith.addi
func.func @least_of_pairs(%x: tensor<8xf16>, %y: tensor<8xi32>) -> (f16, i32) {
  %r:2 = tile.reduce(%x, %y) axis 0 : (tensor<8xf16>, tensor<8xi32>) -> (f16, i32) {
  ^bb0(%a: f16, %i: i32, %b: f16, %j: i32):
    %less = arith.cmpf ole, %b, %a : f16
    %nan = arith.cmpf uno, %b, %b : f16
    %or = arith.ori %nan, %less : i1
    %s = arith.select %or, %b, %a : f16
    %sum = arith.addi %i, %j : i32
    tile.yield %s, %sum : f16, i32
  }
  return %r#0, %r#1 : f16, i32
}

// CHECK-LABEL: @integers
// CHECK: arith.maxsi
// CHECK: arith.minui
func.func @integers(%x: tensor<8xi32>) -> (i32, i32) {
  %r:2 = tile.reduce(%x, %x) axis 0 : (tensor<8xi32>, tensor<8xi32>) -> (i32, i32) {
  ^bb0(%a: i32, %i: i32, %b: i32, %j: i32):
    %greater = arith.cmpi sgt, %a, %b : i32
    %s = arith.select %greater, %a, %b : i32
    %less = arith.cmpi ult, %i, %j : i32
    %t = arith.select %less, %i, %j : i32
    tile.yield %s, %t : i32, i32
  }
  return %r#0, %r#1 : i32, i32
}

// What a NaN does depends on its side, what is kept is something else, or NaN of the other one counts.
// CHECK-LABEL: @others
// CHECK-COUNT-4: arith.select
func.func @others(%x: tensor<8xf32>) -> (f32, f32) {
  %r:2 = tile.reduce(%x, %x) axis 0 : (tensor<8xf32>, tensor<8xf32>) -> (f32, f32) {
  ^bb0(%a: f32, %i: f32, %b: f32, %j: f32):
    %greater = arith.cmpf ogt, %a, %b : f32
    %one = arith.select %greater, %a, %b : f32
    %nan = arith.cmpf une, %a, %a : f32
    %or = arith.ori %greater, %nan : i1
    %two = arith.select %or, %b, %a : f32
    %other = arith.cmpf une, %b, %b : f32
    %either = arith.ori %greater, %other : i1
    %three = arith.select %either, %a, %b : f32
    %mixed = arith.select %or, %a, %j : f32
    %p = arith.addf %one, %two : f32
    %q = arith.addf %three, %mixed : f32
    tile.yield %p, %q : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}
