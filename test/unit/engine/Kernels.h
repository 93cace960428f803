// Kernels in tile IR that several tests compile.
#pragma once

namespace nereid::test {

// out[0] = d[row, 0], with d a descriptor: one slot of the launch ABI holds all its fields.
inline constexpr const char *descriptorLoad = R"(
func.func @peek(%d: !tile.desc<16x16xf32> {tile.name = "d", tile.dtype = "tensordesc<fp32[16,16]>"},
                %out: !tile.ptr<f32> {tile.name = "out", tile.dtype = "*fp32"},
                %row: i32 {tile.name = "row", tile.dtype = "i32"}) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %r = tile.arange 0 to 16 : tensor<16xi32>
  %t = tile.desc_load %d[%row, %zero] : <16x16xf32> -> tensor<16x16xf32>
  %c = tile.expand_dims %r axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %o = tile.broadcast %c : tensor<1x16xi32> -> tensor<16x16xi32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>
  tile.store %op, %t : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32>
  return
}
)";

// out[i] = x[i] + y[i] for i < n, 1024 elements a program.
inline constexpr const char *vectorAdd = R"(
func.func @add(%x: !tile.ptr<f32> {tile.name = "x", tile.divisibility = 16 : i64, tile.dtype = "*fp32"},
               %y: !tile.ptr<f32> {tile.name = "y", tile.divisibility = 16 : i64, tile.dtype = "*fp32"},
               %out: !tile.ptr<f32> {tile.name = "out", tile.divisibility = 16 : i64, tile.dtype = "*fp32"},
               %n: i32 {tile.name = "n", tile.dtype = "i32"}) attributes {tile.kernel} {
  %block = arith.constant 1024 : i32
  %pid = tile.program_id 0
  %start = arith.muli %pid, %block : i32
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %s = tile.splat %start : i32 -> tensor<1024xi32>
  %o = arith.addi %s, %r : tensor<1024xi32>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %mask = arith.cmpi slt, %o, %ns : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %xv = tile.load %xp mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %yp = tile.addptr %ys, %o : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %yv = tile.load %yp mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %sum = arith.addf %xv, %yv : tensor<1024xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %op, %sum mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}
)";

// One row of n <= 1024 elements a program.
inline constexpr const char *softmax = R"(
func.func @softmax(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %row = tile.program_id 0
  %start = arith.muli %row, %n : i32
  %xr = tile.addptr %x, %start : !tile.ptr<f32>, i32
  %yr = tile.addptr %y, %start : !tile.ptr<f32>, i32
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %mask = arith.cmpi slt, %r, %ns : tensor<1024xi32>
  %xs = tile.splat %xr : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %ninf = arith.constant dense<0xFF800000> : tensor<1024xf32>
  %v = tile.load %xp mask %mask : tensor<1024xi1> other %ninf : tensor<1024xf32> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %max = tile.reduce(%v) axis 0 : (tensor<1024xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maxnumf %a, %b : f32
    tile.yield %m : f32
  }
  %ms = tile.splat %max : f32 -> tensor<1024xf32>
  %d = arith.subf %v, %ms : tensor<1024xf32>
  %e = math.exp %d : tensor<1024xf32>
  %sum = tile.reduce(%e) axis 0 : (tensor<1024xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    tile.yield %m : f32
  }
  %ss = tile.splat %sum : f32 -> tensor<1024xf32>
  %q = arith.divf %e, %ss : tensor<1024xf32>
  %ys = tile.splat %yr : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %yp = tile.addptr %ys, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %yp, %q mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}
)";

// c = a b in f16, tiles of 32 x 64, K in steps of 16; pointers walk along K, the accumulator is
// carried.
inline constexpr const char *halfMatmul = R"(
func.func @matmul(%a: !tile.ptr<f16>, %b: !tile.ptr<f16>, %c: !tile.ptr<f16>, %M: i32, %N: i32, %K: i32)
    attributes {tile.kernel} {
  %pm = tile.program_id 0
  %pn = tile.program_id 1
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %c16 = arith.constant 16 : i32
  %c0 = arith.constant 0 : i32
  %m0 = arith.muli %pm, %c32 : i32
  %n0 = arith.muli %pn, %c64 : i32
  %rm = tile.arange 0 to 32 : tensor<32xi32>
  %rn = tile.arange 0 to 64 : tensor<64xi32>
  %rk = tile.arange 0 to 16 : tensor<16xi32>
  %m0s = tile.splat %m0 : i32 -> tensor<32xi32>
  %om = arith.addi %m0s, %rm : tensor<32xi32>
  %n0s = tile.splat %n0 : i32 -> tensor<64xi32>
  %on = arith.addi %n0s, %rn : tensor<64xi32>
  %om2 = tile.expand_dims %om axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %on2 = tile.expand_dims %on axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %Ks = tile.splat %K : i32 -> tensor<32x1xi32>
  %arow = arith.muli %om2, %Ks : tensor<32x1xi32>
  %arowb = tile.broadcast %arow : tensor<32x1xi32> -> tensor<32x16xi32>
  %rk1 = tile.expand_dims %rk axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %rk1b = tile.broadcast %rk1 : tensor<1x16xi32> -> tensor<32x16xi32>
  %aoff = arith.addi %arowb, %rk1b : tensor<32x16xi32>
  %as = tile.splat %a : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>>
  %ap = tile.addptr %as, %aoff : tensor<32x16x!tile.ptr<f16>>, tensor<32x16xi32>
  %rk2 = tile.expand_dims %rk axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %Ns = tile.splat %N : i32 -> tensor<16x1xi32>
  %brow = arith.muli %rk2, %Ns : tensor<16x1xi32>
  %browb = tile.broadcast %brow : tensor<16x1xi32> -> tensor<16x64xi32>
  %on2b = tile.broadcast %on2 : tensor<1x64xi32> -> tensor<16x64xi32>
  %boff = arith.addi %browb, %on2b : tensor<16x64xi32>
  %bs = tile.splat %b : !tile.ptr<f16> -> tensor<16x64x!tile.ptr<f16>>
  %bp = tile.addptr %bs, %boff : tensor<16x64x!tile.ptr<f16>>, tensor<16x64xi32>
  %Ms1 = tile.splat %M : i32 -> tensor<32x1xi32>
  %mm = arith.cmpi slt, %om2, %Ms1 : tensor<32x1xi32>
  %Ns1 = tile.splat %N : i32 -> tensor<1x64xi32>
  %mn = arith.cmpi slt, %on2, %Ns1 : tensor<1x64xi32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %za = arith.constant dense<0.0> : tensor<32x16xf16>
  %zb = arith.constant dense<0.0> : tensor<16x64xf16>
  %bstep = arith.muli %N, %c16 : i32
  %acc, %apl, %bpl = scf.for %k = %c0 to %K step %c16
      iter_args(%acc0 = %zero, %ap0 = %ap, %bp0 = %bp)
      -> (tensor<32x64xf32>, tensor<32x16x!tile.ptr<f16>>, tensor<16x64x!tile.ptr<f16>>) : i32 {
    %left = arith.subi %K, %k : i32
    %lefts1 = tile.splat %left : i32 -> tensor<1x16xi32>
    %mk1 = arith.cmpi slt, %rk1, %lefts1 : tensor<1x16xi32>
    %mk1b = tile.broadcast %mk1 : tensor<1x16xi1> -> tensor<32x16xi1>
    %mmb = tile.broadcast %mm : tensor<32x1xi1> -> tensor<32x16xi1>
    %ma = arith.andi %mk1b, %mmb : tensor<32x16xi1>
    %av = tile.load %ap0 mask %ma : tensor<32x16xi1> other %za : tensor<32x16xf16> : tensor<32x16x!tile.ptr<f16>> -> tensor<32x16xf16>
    %lefts2 = tile.splat %left : i32 -> tensor<16x1xi32>
    %mk2 = arith.cmpi slt, %rk2, %lefts2 : tensor<16x1xi32>
    %mk2b = tile.broadcast %mk2 : tensor<16x1xi1> -> tensor<16x64xi1>
    %mnb = tile.broadcast %mn : tensor<1x64xi1> -> tensor<16x64xi1>
    %mb = arith.andi %mk2b, %mnb : tensor<16x64xi1>
    %bv = tile.load %bp0 mask %mb : tensor<16x64xi1> other %zb : tensor<16x64xf16> : tensor<16x64x!tile.ptr<f16>> -> tensor<16x64xf16>
    %acc1 = tile.dot %av, %bv, %acc0 : tensor<32x16xf16>, tensor<16x64xf16> -> tensor<32x64xf32>
    %s1 = tile.splat %c16 : i32 -> tensor<32x16xi32>
    %ap1 = tile.addptr %ap0, %s1 : tensor<32x16x!tile.ptr<f16>>, tensor<32x16xi32>
    %s2 = tile.splat %bstep : i32 -> tensor<16x64xi32>
    %bp1 = tile.addptr %bp0, %s2 : tensor<16x64x!tile.ptr<f16>>, tensor<16x64xi32>
    scf.yield %acc1, %ap1, %bp1 : tensor<32x64xf32>, tensor<32x16x!tile.ptr<f16>>, tensor<16x64x!tile.ptr<f16>>
  }
  %h = arith.truncf %acc : tensor<32x64xf32> to tensor<32x64xf16>
  %Ns3 = tile.splat %N : i32 -> tensor<32x1xi32>
  %crow = arith.muli %om2, %Ns3 : tensor<32x1xi32>
  %crowb = tile.broadcast %crow : tensor<32x1xi32> -> tensor<32x64xi32>
  %oncb = tile.broadcast %on2 : tensor<1x64xi32> -> tensor<32x64xi32>
  %coff = arith.addi %crowb, %oncb : tensor<32x64xi32>
  %cs = tile.splat %c : !tile.ptr<f16> -> tensor<32x64x!tile.ptr<f16>>
  %cp = tile.addptr %cs, %coff : tensor<32x64x!tile.ptr<f16>>, tensor<32x64xi32>
  %mmc = tile.broadcast %mm : tensor<32x1xi1> -> tensor<32x64xi1>
  %mnc = tile.broadcast %mn : tensor<1x64xi1> -> tensor<32x64xi1>
  %mc = arith.andi %mmc, %mnc : tensor<32x64xi1>
  tile.store %cp, %h mask %mc : tensor<32x64xi1> : tensor<32x64x!tile.ptr<f16>>, tensor<32x64xf16>
  return
}
)";

inline constexpr const char *shapes = R"(
// x: 64x32 f32. Writes: column sums [32], row maxima [64], the transposed tile [32x64], the running row sums
// [64x32], the last element of each row by an ordered combine [64], and of all [1].
func.func @shapes(%x: !tile.ptr<f32>, %cols: !tile.ptr<f32>, %rows: !tile.ptr<f32>, %t: !tile.ptr<f32>,
                  %scan: !tile.ptr<f32>, %last: !tile.ptr<f32>, %count: !tile.ptr<i32>, %total: !tile.ptr<f32>) attributes {tile.kernel} {
  %rm = tile.arange 0 to 64 : tensor<64xi32>
  %rn = tile.arange 0 to 32 : tensor<32xi32>
  %m = tile.expand_dims %rm axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %n = tile.expand_dims %rn axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %c32 = arith.constant dense<32> : tensor<64x1xi32>
  %ms = arith.muli %m, %c32 : tensor<64x1xi32>
  %mb = tile.broadcast %ms : tensor<64x1xi32> -> tensor<64x32xi32>
  %nb = tile.broadcast %n : tensor<1x32xi32> -> tensor<64x32xi32>
  %o = arith.addi %mb, %nb : tensor<64x32xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x32x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<64x32x!tile.ptr<f32>>, tensor<64x32xi32>
  %v = tile.load %xp : tensor<64x32x!tile.ptr<f32>> -> tensor<64x32xf32>
  %cs = tile.reduce(%v) axis 0 : (tensor<64x32xf32>) -> tensor<32xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  %colss = tile.splat %cols : !tile.ptr<f32> -> tensor<32x!tile.ptr<f32>>
  %colsp = tile.addptr %colss, %rn : tensor<32x!tile.ptr<f32>>, tensor<32xi32>
  tile.store %colsp, %cs : tensor<32x!tile.ptr<f32>>, tensor<32xf32>
  %rx = tile.reduce(%v) axis 1 : (tensor<64x32xf32>) -> tensor<64xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maxnumf %a, %b : f32
    tile.yield %s : f32
  }
  %rowss = tile.splat %rows : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %rowsp = tile.addptr %rowss, %rm : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  tile.store %rowsp, %rx : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  %tv = tile.trans %v [1, 0] : tensor<64x32xf32> -> tensor<32x64xf32>
  %tn = tile.expand_dims %rn axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %tm = tile.expand_dims %rm axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %c64 = arith.constant dense<64> : tensor<32x1xi32>
  %tns = arith.muli %tn, %c64 : tensor<32x1xi32>
  %tnb = tile.broadcast %tns : tensor<32x1xi32> -> tensor<32x64xi32>
  %tmb = tile.broadcast %tm : tensor<1x64xi32> -> tensor<32x64xi32>
  %to = arith.addi %tnb, %tmb : tensor<32x64xi32>
  %ts = tile.splat %t : !tile.ptr<f32> -> tensor<32x64x!tile.ptr<f32>>
  %tp = tile.addptr %ts, %to : tensor<32x64x!tile.ptr<f32>>, tensor<32x64xi32>
  tile.store %tp, %tv : tensor<32x64x!tile.ptr<f32>>, tensor<32x64xf32>
  %sc = tile.scan(%v) axis 1 : (tensor<64x32xf32>) -> tensor<64x32xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  %scs = tile.splat %scan : !tile.ptr<f32> -> tensor<64x32x!tile.ptr<f32>>
  %scp = tile.addptr %scs, %o : tensor<64x32x!tile.ptr<f32>>, tensor<64x32xi32>
  tile.store %scp, %sc : tensor<64x32x!tile.ptr<f32>>, tensor<64x32xf32>
  %lx = tile.reduce(%v) axis 1 : (tensor<64x32xf32>) -> tensor<64xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %b : f32
  }
  %lasts = tile.splat %last : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %lastp = tile.addptr %lasts, %rm : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  tile.store %lastp, %lx : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  %flat = tile.reshape %v : tensor<64x32xf32> -> tensor<2048xf32>
  %ll = tile.reduce(%flat) axis 0 : (tensor<2048xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    tile.yield %b : f32
  }
  tile.store %total, %ll : !tile.ptr<f32>, f32
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %pos = arith.cmpf ogt, %v, %zero : tensor<64x32xf32>
  %one = arith.constant dense<1> : tensor<64x32xi32>
  %counts = tile.splat %count : !tile.ptr<i32> -> tensor<64x32x!tile.ptr<i32>>
  %old = tile.atomic_rmw <add>, <acq_rel>, <gpu>, %counts, %one mask %pos : tensor<64x32xi1> : tensor<64x32x!tile.ptr<i32>>, tensor<64x32xi32> -> tensor<64x32xi32>
  return
}
)";

} // namespace nereid::test
