// RUN: nereid-opt %s --tile-fold-counters | FileCheck %s

// A counter from 0 is never negative, and none of these is beyond its end.
// CHECK-LABEL: @within
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: arith.addi
// CHECK-NOT: scf.if
// CHECK: arith.muli
// CHECK-NOT: {{scf.if|subi}}
// CHECK: return
func.func @within(%x: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %x) -> i32 : i32 {
    %counts = arith.cmpi sge, %i, %c0 : i32
    %next = scf.if %counts -> i32 {
      %t = arith.addi %s, %i : i32
      %inside = arith.cmpi sgt, %c8, %i : i32
      %u = scf.if %inside -> i32 {
        %v = arith.muli %t, %x : i32
        scf.yield %v : i32
      } else {
        scf.yield %t : i32
      }
      scf.yield %u : i32
    } else {
      %t = arith.subi %s, %i : i32
      scf.yield %t : i32
    }
    %beyond = arith.cmpi eq, %i, %c8 : i32
    scf.if %beyond {
      %never = arith.subi %i, %x : i32
    }
    scf.yield %next : i32
  }
  return %sum : i32
}

// Of the first and the last step, of an end that nobody knows, and of steps downwards nothing is said.
// CHECK-LABEL: @asked
// CHECK-COUNT-4: arith.cmpi
// CHECK: return
func.func @asked(%n: i32, %x: i1) -> (i1, i1, i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %ends = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %x) -> i1 : i32 {
    %first = arith.cmpi sle, %i, %c0 : i32
    %last = arith.cmpi sge, %i, %c7 : i32
    %either = arith.xori %first, %last : i1
    %next = arith.xori %either, %s : i1
    scf.yield %next : i1
  }
  %open = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> i1 : i32 {
    %end = arith.cmpi slt, %i, %c8 : i32
    %next = arith.xori %end, %s : i1
    scf.yield %next : i1
  }
  %steps = scf.for %i = %c0 to %c8 step %n iter_args(%s = %x) -> i1 : i32 {
    %any = arith.cmpi sge, %i, %c0 : i32
    %next = arith.xori %any, %s : i1
    scf.yield %next : i1
  }
  return %ends, %open, %steps : i1, i1, i1
}
