// RUN: nereid-opt %s --tile-expand-inline-asm --canonicalize | FileCheck %s

// One element a register: operations on tiles. A predicated statement keeps what the register held.
// CHECK-LABEL: @relu
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK-DAG: %[[P:.*]] = arith.cmpf ogt, %arg0, %[[ZERO]]
// CHECK-DAG: %[[TWICE:.*]] = arith.addf %arg0, %arg0
// CHECK-DAG: arith.select %[[P]], {{.*}} : tensor<16xi1>, tensor<16xi32>
// CHECK-NOT: inline_asm
func.func @relu(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = tile.inline_asm "{ .reg .pred p; mov.f32 $0, 0f00000000; setp.gt.f32 p, $1, 0f00000000; @p add.f32 $0, $1, $1; }" "=f,f" pack 1 pure true (%x) : (tensor<16xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// Four bytes share a register: a map of four elements at a time.
// CHECK-LABEL: @bytes
// CHECK: tile.map pack 4(%arg0)
// CHECK: ^bb0(%[[A:.*]]: i8, %[[B:.*]]: i8, %[[C:.*]]: i8, %[[D:.*]]: i8):
// CHECK: %[[WIDE:.*]] = arith.extui %[[D]] : i8 to i32
// CHECK: tile.shl %[[WIDE]], %c24
// CHECK: tile.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : i8, i8, i8, i8
func.func @bytes(%x: tensor<64xi8>) -> tensor<64xi8> {
  %y = tile.inline_asm "and.b32 $0, $1, 0x78787878;" "=r,r" pack 4 pure true (%x) : (tensor<64xi8>) -> tensor<64xi8>
  return %y : tensor<64xi8>
}

// A trap is a failed assertion, where its guard holds.
// CHECK-LABEL: @trap
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// CHECK-DAG: %[[HOLDS:.*]] = arith.cmpi ne, %arg0, %c0_i32
// CHECK: tile.assert %[[HOLDS]], "inline PTX `trap`"
// CHECK: tile.assert %[[FALSE]], "inline PTX `trap`"
func.func @trap(%x: i32) {
  %y = tile.inline_asm "{ .reg .pred p; setp.eq.s32 p, $1, 0; @p trap; trap; mov.u32 $0, $1; }" "=r,r" pack 1 pure false (%x) : (i32) -> i32
  return
}
