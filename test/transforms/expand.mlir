// RUN: nereid-opt %s --tile-expand --canonicalize | FileCheck %s

// Functions of f32 are polynomials and what `exp` gives; integer operations have a result for every operand: x / 0 is -1, the
// least number by -1 is itself, a shift by the width or more is 0.
// CHECK-LABEL: @f
// tanh: a polynomial below 0.625, 1 - 2 / (exp(2|x|) + 1) with the sign of x above.
// CHECK: %[[ABS:.*]] = math.absf %[[X:.*]] : f32
// CHECK-COUNT-4: llvm.intr.fmuladd
// CHECK: %[[SMALL:.*]] = llvm.intr.fmuladd(%{{.*}}, %[[X]], %[[X]])
// CHECK: math.exp
// CHECK: %[[IS_SMALL:.*]] = arith.cmpf olt, %[[ABS]]
// CHECK: %[[LARGE:.*]] = math.copysign %{{.*}}, %[[X]]
// CHECK: %[[TANH:.*]] = arith.select %[[IS_SMALL]], %[[SMALL]], %[[LARGE]]
// cosh: (e + 1 / e) / 2, and by the square of exp(x / 2) where e overflows.
// CHECK: math.exp
// CHECK: %[[E:.*]] = math.exp
// CHECK: arith.divf %{{.*}}, %[[E]]
// CHECK: %[[COSH:.*]] = arith.select
// CHECK: %[[SAFE:.*]] = arith.select %{{.*}}, %c1_i32, %arg2
// CHECK: arith.divsi %arg1, %[[SAFE]]
// CHECK: %[[QUOTIENT:.*]] = arith.select %{{.*}}, %c-1_i32
// CHECK: %[[FITS:.*]] = arith.cmpi ult, %arg2, %c32_i32
// CHECK: %[[SHIFTED:.*]] = arith.shli %arg1, %arg2
// CHECK: %[[SHIFT:.*]] = arith.select %[[FITS]], %[[SHIFTED]], %c0_i32
// CHECK: return %[[TANH]], %[[COSH]], %[[QUOTIENT]], %[[SHIFT]]
func.func @f(%x: f32, %a: i32, %b: i32) -> (f32, f32, i32, i32) {
  %t = math.tanh %x : f32
  %c = tile.extern "__nv_coshf" (%x) : (f32) -> f32
  %d = tile.divsi %a, %b : i32
  %s = tile.shl %a, %b : i32
  return %t, %c, %d, %s : f32, f32, i32, i32
}
