// RUN: nereid-opt %s --gpu-assign-layouts --cse | FileCheck %s

// A product has the layout of its instruction, loads have one that makes them 16 bytes wide, and the sum is converted once, where
// it is stored. Addresses are computed in the layout of their access.
// CHECK-DAG: #[[SUM:.*]] = #tilegpu.layout<2, register = {{\[\[0, 1\], \[8, 0\], \[0, 8\], \[0, 16\], \[0, 32\]\]}}, lane = {{\[\[0, 2\], \[0, 4\], \[1, 0\], \[2, 0\], \[4, 0\]\]}}, warp = {{\[\[16, 0\], \[32, 0\]\]}}>
// CHECK-DAG: #[[LOAD:.*]] = #tilegpu.layout<2, register = {{\[\[0, 1\], \[0, 2\], \[0, 4\], \[16, 0\], \[32, 0\]\]}}
// CHECK-DAG: #[[STORE:.*]] = #tilegpu.layout<2, register = {{\[\[0, 1\], \[0, 2\], \[8, 0\]}}
// CHECK-LABEL: @product
// CHECK: scf.for {{.*}} -> (tensor<64x64xf32, #[[SUM]]>)
// CHECK-COUNT-2: tile.load {{.*}} -> tensor<64x64xf16, #[[LOAD]]>
// CHECK: tile.dot {{.*}} {tilegpu.instruction = "wgmma"} : tensor<64x64xf16, #[[LOAD]]>, tensor<64x64xf16, #[[LOAD]]> -> tensor<64x64xf32, #[[SUM]]>
// CHECK-NOT: convert_layout
// CHECK: scf.yield
// CHECK: tilegpu.convert_layout %{{.*}} : tensor<64x64xf32, #[[SUM]]> -> tensor<64x64xf32, #[[STORE]]>
// CHECK-NOT: convert_layout
// CHECK: tile.store
func.func @product(%x: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %y: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %z: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %pitch = arith.constant dense<64> : tensor<64x1xi32>
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %rows = tile.expand_dims %r axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tile.expand_dims %r axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %starts = arith.muli %rows, %pitch : tensor<64x1xi32>
  %a0 = tile.broadcast %starts : tensor<64x1xi32> -> tensor<64x64xi32>
  %a1 = tile.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %places = arith.addi %a0, %a1 : tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %ys = tile.splat %y : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %zs = tile.splat %z : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %sum = scf.for %i = %zero to %n step %step iter_args(%acc = %none) -> tensor<64x64xf32> : i32 {
    %is = tile.splat %i : i32 -> tensor<64x64xi32>
    %at = arith.addi %is, %places : tensor<64x64xi32>
    %p = tile.addptr %xs, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %q = tile.addptr %ys, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %a = tile.load %p : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %b = tile.load %q : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %next = tile.dot %a, %b, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %o = tile.addptr %zs, %places : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %o, %sum : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}
