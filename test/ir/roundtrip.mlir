// RUN: nereid-opt %s | nereid-opt | FileCheck %s
// RUN: nereid-opt %s --mlir-print-op-generic | nereid-opt | FileCheck %s

// Every op of the tile dialect prints and parses, in both forms.

// CHECK-LABEL: func.func @program
func.func @program(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %n: i32) attributes {tile.kernel} {
  // CHECK: tile.program_id 0
  %pid = tile.program_id 0
  // CHECK: tile.num_programs 1
  %np = tile.num_programs 1
  // CHECK: tile.arange 0 to 8 : tensor<8xi32>
  %r = tile.arange 0 to 8 : tensor<8xi32>
  // CHECK: tile.splat %{{.*}} : i32 -> tensor<8xi32>
  %s = tile.splat %pid : i32 -> tensor<8xi32>
  %o = arith.addi %r, %s : tensor<8xi32>
  // CHECK: tile.splat %{{.*}} : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  // CHECK: tile.addptr %{{.*}}, %{{.*}} : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %a = tile.addptr %ps, %o : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  // CHECK: tile.addptr %{{.*}}, %{{.*}} unsigned :
  %au = tile.addptr %ps, %o unsigned : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %ns = tile.splat %n : i32 -> tensor<8xi32>
  %m = arith.cmpi slt, %o, %ns : tensor<8xi32>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  // CHECK: tile.load %{{.*}} mask %{{.*}} : tensor<8xi1> other %{{.*}} : tensor<8xf32> cache <cg> evict <evict_last> volatile
  %v = tile.load %a mask %m : tensor<8xi1> other %zero : tensor<8xf32> cache <cg> evict <evict_last> volatile : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  // CHECK: tile.load %{{.*}} : !tile.ptr<f32> -> f32
  %v1 = tile.load %p : !tile.ptr<f32> -> f32
  // CHECK: tile.store %{{.*}}, %{{.*}} mask %{{.*}} : tensor<8xi1> cache <wt> :
  tile.store %a, %v mask %m : tensor<8xi1> cache <wt> : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
  // CHECK: tile.atomic_rmw <fadd>, <acq_rel>, <gpu>, %{{.*}}, %{{.*}} mask
  %old = tile.atomic_rmw <fadd>, <acq_rel>, <gpu>, %a, %v mask %m : tensor<8xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  %q = tile.bitcast %p : !tile.ptr<f32> -> !tile.ptr<i32>
  // CHECK: tile.atomic_cas <acquire>, <sys>,
  %cas = tile.atomic_cas <acquire>, <sys>, %q, %n, %pid : !tile.ptr<i32>, i32 -> i32
  // CHECK: tile.ptr_to_int
  %i = tile.ptr_to_int %p : !tile.ptr<f32> -> i64
  // CHECK: tile.int_to_ptr
  %back = tile.int_to_ptr %i : i64 -> !tile.ptr<f32>
  // CHECK: tile.hint %{{.*}} {contiguity = array<i64: 8>, divisibility = array<i64: 8>}
  %h = tile.hint %o {divisibility = array<i64: 8>, contiguity = array<i64: 8>} : tensor<8xi32>
  %true = arith.constant true
  // CHECK: tile.assume
  tile.assume %true
  // CHECK: tile.barrier
  tile.barrier
  // CHECK: tile.print "x = " hex false signed [true] : %{{.*}} : tensor<8xi32>
  tile.print "x = " hex false signed [true] : %o : tensor<8xi32>
  // CHECK: tile.assert %{{.*}}, "positive" mask %{{.*}} : tensor<8xi1> : tensor<8xi1>
  tile.assert %m, "positive" mask %m : tensor<8xi1> : tensor<8xi1>
  // CHECK: tile.clock
  %t = tile.clock
  // CHECK: tile.smid
  %sm = tile.smid
  // CHECK: tile.grid_dependency wait true
  tile.grid_dependency wait true
  return
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<4x8xf16>, %v: tensor<8xf16>, %i: tensor<4x2xi32>) {
  // CHECK: tile.broadcast
  %e = tile.expand_dims %v axis 0 : tensor<8xf16> -> tensor<1x8xf16>
  %b = tile.broadcast %e : tensor<1x8xf16> -> tensor<4x8xf16>
  // CHECK: tile.reshape %{{.*}} : tensor<4x8xf16> -> tensor<32xf16>
  %r = tile.reshape %x : tensor<4x8xf16> -> tensor<32xf16>
  // CHECK: tile.reshape %{{.*}} reorder
  %rr = tile.reshape %x reorder : tensor<4x8xf16> -> tensor<32xf16>
  // CHECK: tile.trans %{{.*}} [1, 0]
  %t = tile.trans %x [1, 0] : tensor<4x8xf16> -> tensor<8x4xf16>
  // CHECK: tile.join
  %j = tile.join %x, %b : tensor<4x8xf16> -> tensor<4x8x2xf16>
  // CHECK: tile.split
  %l, %h = tile.split %j : tensor<4x8x2xf16> -> tensor<4x8xf16>
  // CHECK: tile.cat
  %c = tile.cat %v, %v : tensor<8xf16>, tensor<8xf16> -> tensor<16xf16>
  // CHECK: tile.gather %{{.*}}[%{{.*}}] axis 1
  %g = tile.gather %x[%i] axis 1 : tensor<4x8xf16>, tensor<4x2xi32> -> tensor<4x2xf16>
  %ri = tile.reshape %i : tensor<4x2xi32> -> tensor<8xi32>
  // CHECK: tile.histogram
  %hi = tile.histogram %ri : tensor<8xi32> -> tensor<4xi32>
  %one = tile.reshape %e : tensor<1x8xf16> -> tensor<8xf16>
  %s0 = tile.arange 3 to 4 : tensor<1xi32>
  // CHECK: tile.unsplat
  %u = tile.unsplat %s0 : tensor<1xi32> -> i32
  return
}

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%a: i32, %b: i32, %f: f32, %t: tensor<8xf32>) {
  // CHECK: tile.divsi
  %0 = tile.divsi %a, %b : i32
  // CHECK: tile.divui
  %1 = tile.divui %a, %b : i32
  // CHECK: tile.remsi
  %2 = tile.remsi %a, %b : i32
  // CHECK: tile.remui
  %3 = tile.remui %a, %b : i32
  // CHECK: tile.shl
  %4 = tile.shl %a, %b : i32
  // CHECK: tile.shrs
  %5 = tile.shrs %a, %b : i32
  // CHECK: tile.shru
  %6 = tile.shru %a, %b : i32
  // CHECK: tile.mulhiui
  %7 = tile.mulhiui %a, %b : i32
  // CHECK: tile.fp_to_int %{{.*}} unsigned : f32 -> i8
  %8 = tile.fp_to_int %f unsigned : f32 -> i8
  // CHECK: tile.fp_convert %{{.*}} rounding <rtz> : tensor<8xf32> -> tensor<8xf16>
  %9 = tile.fp_convert %t rounding <rtz> : tensor<8xf32> -> tensor<8xf16>
  // CHECK: tile.sqrt_rn
  %10 = tile.sqrt_rn %f : f32
  // CHECK: tile.div_rn
  %11 = tile.div_rn %f, %f : f32
  // CHECK: tile.extern "__nv_tanhf"(%{{.*}}) : (tensor<8xf32>) -> tensor<8xf32>
  %12 = tile.extern "__nv_tanhf" (%t) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: tile.inline_asm "mov.b32 $0, $1;" "=r,r" pack 1 pure true(%{{.*}}) : (tensor<8xf32>) -> tensor<8xf32>
  %13 = tile.inline_asm "mov.b32 $0, $1;" "=r,r" pack 1 pure true (%t) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: tile.library_call "f" of "mine" "" pure false(%{{.*}}) : (tensor<8xf32>) -> tensor<8xi32>
  %library = tile.library_call "f" of "mine" "" pure false (%t) : (tensor<8xf32>) -> tensor<8xi32>
  // CHECK: tile.library_call "g" of "" "g.bc" pure true() : () -> i32
  %answer = tile.library_call "g" of "" "g.bc" pure true () : () -> i32
  // CHECK: tile.map pack 1(%{{.*}})
  %14 = tile.map pack 1 (%t) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: f32):
    %y = arith.addf %x, %x : f32
    tile.yield %y : f32
  }
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<16x32xf16>, %b: tensor<32x16xf16>, %c: tensor<16x16xf32>, %x: tensor<16x32xi8>, %s: tensor<16x1xi8>, %y: tensor<32x16xi8>, %i: tensor<16x32xi32>) {
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} precision <tf32>
  %d = tile.dot %a, %b, %c precision <tf32> : tensor<16x32xf16>, tensor<32x16xf16> -> tensor<16x16xf32>
  // CHECK: tile.dot_scaled %{{.*}} scale %{{.*}} : tensor<16x1xi8> <e4m3>, %{{.*}} scale %{{.*}} : tensor<16x1xi8> <e5m2>, %{{.*}} packed true true fast
  %ds = tile.dot_scaled %x scale %s : tensor<16x1xi8> <e4m3>, %y scale %s : tensor<16x1xi8> <e5m2>, %c packed true true fast : tensor<16x32xi8>, tensor<32x16xi8> -> tensor<16x16xf32>
  // CHECK: tile.reduce(%{{.*}}, %{{.*}}) axis 1
  %m, %k = tile.reduce (%a, %i) axis 1 : (tensor<16x32xf16>, tensor<16x32xi32>) -> (tensor<16xf16>, tensor<16xi32>) {
  ^bb0(%l: f16, %li: i32, %r: f16, %ri: i32):
    %g = arith.cmpf ogt, %l, %r : f16
    %v = arith.select %g, %l, %r : f16
    %w = arith.select %g, %li, %ri : i32
    // CHECK: tile.yield %{{.*}}, %{{.*}} : f16, i32
    tile.yield %v, %w : f16, i32
  }
  // CHECK: tile.scan(%{{.*}}) axis 0 reverse
  %z = tile.scan (%i) axis 0 reverse : (tensor<16x32xi32>) -> tensor<16x32xi32> {
  ^bb0(%l: i32, %r: i32):
    %v = arith.addi %l, %r : i32
    tile.yield %v : i32
  }
  return
}

// CHECK-LABEL: func.func @descriptors
func.func @descriptors(%p: !tile.ptr<f16>, %n: i64, %one: i64, %i: i32, %rows: tensor<8xi32>, %g: !tile.desc<1x16xf16, nan>) {
  // CHECK: tile.make_desc %{{.*}}, [%{{.*}}, %{{.*}}], [%{{.*}}, %{{.*}}] : <f16> -> <8x16xf16>
  %d = tile.make_desc %p, [%n, %n], [%n, %one] : !tile.ptr<f16> -> !tile.desc<8x16xf16>
  // CHECK: tile.desc_field %{{.*}} "shape" 1
  %f = tile.desc_field %d "shape" 1 : !tile.desc<8x16xf16>
  // CHECK: tile.desc_load
  %v = tile.desc_load %d[%i, %i] : !tile.desc<8x16xf16> -> tensor<8x16xf16>
  // CHECK: tile.desc_store
  tile.desc_store %d[%i, %i], %v : !tile.desc<8x16xf16>, tensor<8x16xf16>
  // CHECK: tile.desc_reduce <fadd>,
  tile.desc_reduce <fadd>, %d[%i, %i], %v : !tile.desc<8x16xf16>, tensor<8x16xf16>
  // CHECK: tile.desc_gather {{.*}} <1x16xf16, nan>
  %w = tile.desc_gather %g[%rows, %i] : !tile.desc<1x16xf16, nan>, tensor<8xi32> -> tensor<8x16xf16>
  // CHECK: tile.desc_scatter
  tile.desc_scatter %g[%rows, %i], %w : !tile.desc<1x16xf16, nan>, tensor<8xi32>, tensor<8x16xf16>
  return
}
