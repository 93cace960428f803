// RUN: nereid-opt %s --gpu-assign-layouts --gpu-defer-reductions --canonicalize --split-input-file | FileCheck %s

// Threads carry what comes of their own elements, with a register for all that a thread adds up at once; lanes and warps meet behind the loop.
// CHECK-LABEL: @sums
// CHECK: %[[NONE:.*]] = arith.constant dense<-0.000000e+00> : tensor<128xf32
// CHECK: %[[OWN:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %[[NONE]]) -> (tensor<128xf32
// CHECK: %[[V:.*]] = tile.load
// CHECK: %[[PARTS:.*]] = tile.reshape %[[V]] : tensor<512xf32, {{.*}}> -> tensor<128x4xf32
// CHECK: %[[STEP:.*]] = tile.reduce(%[[PARTS]]) axis 1
// CHECK: %[[NEXT:.*]] = arith.addf %[[S]], %[[STEP]] : tensor<128xf32
// CHECK: scf.yield %[[NEXT]]
// CHECK: %[[ALL:.*]] = tile.reduce(%[[OWN]]) axis 0
// CHECK: %[[SUM:.*]] = arith.addf {{.*}}, %[[ALL]] : f32
// CHECK: tile.store %{{.*}}, %[[SUM]]
func.func @sums(%x: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %y: !tile.ptr<f32>, %n: i32, %start: f32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %width = arith.constant 512 : i32
  %r = tile.arange 0 to 512 : tensor<512xi32>
  %base = tile.splat %x : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %o = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> (f32) : i32 {
    %at = arith.muli %i, %width : i32
    %ats = tile.splat %at : i32 -> tensor<512xi32>
    %places = arith.addi %ats, %r : tensor<512xi32>
    %p = tile.addptr %base, %places : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    %v = tile.load %p : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
    %t = tile.reduce (%v) axis 0 : (tensor<512xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    %next = arith.addf %s, %t : f32
    scf.yield %next : f32
  }
  tile.store %y, %o : !tile.ptr<f32>, f32
  return
}

// -----

// What an extremum starts with may be taken by all.
// CHECK-LABEL: @extrema
// CHECK: %[[START:.*]] = tile.splat %{{.*}} : f32 -> tensor<128xf32
// CHECK: %[[OWN:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[START]])
// CHECK: %[[ALL:.*]] = tile.reduce(%[[OWN]]) axis 0
// CHECK: tile.store %{{.*}}, %[[ALL]]
func.func @extrema(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32, %start: f32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = tile.arange 0 to 128 : tensor<128xi32>
  %base = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %o = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> (f32) : i32 {
    %ats = tile.splat %i : i32 -> tensor<128xi32>
    %places = arith.addi %ats, %r : tensor<128xi32>
    %p = tile.addptr %base, %places : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    %v = tile.load %p : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
    %t = tile.reduce (%v) axis 0 : (tensor<128xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maxnumf %a, %b : f32
      tile.yield %c : f32
    }
    %next = arith.maxnumf %t, %s : f32
    scf.yield %next : f32
  }
  tile.store %y, %o : !tile.ptr<f32>, f32
  return
}

// -----

// Another operation than the reduction's, and a sum that the loop asks for, stay in their step.
// CHECK-LABEL: @in_each_step
// CHECK: scf.for
// CHECK: tile.reduce
// CHECK: arith.maxnumf
// CHECK: tile.reduce
// CHECK: tile.store
// CHECK: scf.yield
// CHECK-NOT: tile.reduce
func.func @in_each_step(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32, %start: f32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = tile.arange 0 to 128 : tensor<128xi32>
  %base = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %o:2 = scf.for %i = %zero to %n step %one iter_args(%m = %start, %s = %start) -> (f32, f32) : i32 {
    %ats = tile.splat %i : i32 -> tensor<128xi32>
    %places = arith.addi %ats, %r : tensor<128xi32>
    %p = tile.addptr %base, %places : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    %v = tile.load %p : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
    %t = tile.reduce (%v) axis 0 : (tensor<128xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    %greatest = arith.maxnumf %m, %t : f32
    %w = arith.mulf %v, %v : tensor<128xf32>
    %u = tile.reduce (%w) axis 0 : (tensor<128xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    %next = arith.addf %s, %u : f32
    %q = tile.addptr %y, %i : !tile.ptr<f32>, i32
    tile.store %q, %next : !tile.ptr<f32>, f32
    scf.yield %greatest, %next : f32, f32
  }
  tile.store %y, %o#0 : !tile.ptr<f32>, f32
  return
}
