// RUN: nereid-opt %s --gpu-assign-layouts --gpu-merge-reductions --canonicalize | FileCheck %s

// Two sums of tiles in one layout, neither of which needs the other: one reduction of two.
// CHECK: #[[LAYOUT:.*]] = #tilegpu.layout<1, register = {{\[\[128\], \[256\], \[512\]\]}}
// CHECK-LABEL: @rows
// CHECK: %[[V:.*]] = tile.load
// CHECK: %[[W:.*]] = arith.mulf %[[V]], %[[V]]
// CHECK: %[[BOTH:.*]]:2 = tile.reduce(%[[V]], %[[W]]) axis 0 : (tensor<1024xf32, #[[LAYOUT]]>, tensor<1024xf32, #[[LAYOUT]]>) -> (f32, f32)
// CHECK-NOT: tile.reduce
// CHECK: arith.mulf %[[BOTH]]#0, %[[BOTH]]#1
func.func @rows(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>) attributes {tile.kernel} {
  %o = tile.arange 0 to 1024 : tensor<1024xi32>
  %s = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %p = tile.addptr %s, %o : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %p : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %w = arith.mulf %v, %v : tensor<1024xf32>
  %sum = tile.reduce (%v) axis 0 : (tensor<1024xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %squares = tile.reduce (%w) axis 0 : (tensor<1024xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %z = arith.mulf %sum, %squares : f32
  tile.store %y, %z : !tile.ptr<f32>, f32
  return
}
