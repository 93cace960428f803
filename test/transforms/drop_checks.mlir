// RUN: nereid-opt %s --tile-drop-checks | FileCheck %s

// What the program asserts stays; what only the interpreter asks goes.
// CHECK-LABEL: @both
// CHECK: tile.assert %arg0, "of the program"
// CHECK-NOT: tile.assert
// CHECK: return
func.func @both(%c: i1) {
  tile.assert %c, "of the program" : i1
  tile.assert %c, "`x` has no value" {tile.only_checked = "LoopOnly"} : i1
  return
}
