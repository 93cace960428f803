// RUN: nereid-opt %s --tile-count-trips | FileCheck %s
// RUN: nereid-opt %s --tile-count-trips=narrow=true | FileCheck %s --check-prefix=OWN

// The upper bound may be the greatest i32, so the variable may wrap around.
// CHECK-LABEL: @unknown_bound
// CHECK-DAG: %[[DIFF:.*]] = arith.subi %arg1, %arg0 : i32
// CHECK: arith.divui
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %arg0, %arg1
// CHECK: %[[COUNT:.*]] = arith.select %[[RUNS]]
// CHECK: %[[WIDE:.*]] = arith.extui %{{.*}} : i32 to i64
// CHECK: scf.for %[[TRIP:.*]] = %{{.*}} to %[[WIDE]] step %{{.*}} iter_args
// CHECK: %[[NARROW:.*]] = arith.trunci %[[TRIP]] : i64 to i32
// CHECK: %[[STEPS:.*]] = arith.muli %[[NARROW]]
// CHECK: arith.addi %arg0, %[[STEPS]]
func.func @unknown_bound(%lo: i32, %hi: i32) -> i32 {
  %four = arith.constant 4 : i32
  %sum = scf.for %i = %lo to %hi step %four iter_args(%acc = %lo) -> i32 : i32 {
    %next = arith.addi %acc, %i : i32
    scf.yield %next : i32
  }
  return %sum : i32
}

// Steps of three or more fit the type of the bounds, and are counted in it where that is cheaper.
// OWN-LABEL: @unknown_bound
// OWN: %[[COUNT:.*]] = arith.select
// OWN-NOT: i64
// OWN: scf.for %[[TRIP:.*]] = %{{.*}} to %[[COUNT]] step %{{.*}} iter_args
// OWN-NEXT: %[[STEPS:.*]] = arith.muli %[[TRIP]]
// OWN-NEXT: arith.addi %arg0, %[[STEPS]]
// OWN: return

// From the least number to the greatest, a step of two takes one more than half of all there are.
// OWN-LABEL: @step_of_two
// OWN: arith.extui %{{.*}} : i32 to i64
// OWN: arith.trunci %{{.*}} : i64 to i32
func.func @step_of_two(%lo: i32, %hi: i32) -> i32 {
  %two = arith.constant 2 : i32
  %sum = scf.for %i = %lo to %hi step %two iter_args(%acc = %lo) -> i32 : i32 {
    %next = arith.addi %acc, %i : i32
    scf.yield %next : i32
  }
  return %sum : i32
}

// A step of one meets every bound.
// CHECK-LABEL: @step_of_one
// CHECK: scf.for %{{.*}} = %arg0 to %arg1 step %{{.*}} iter_args
// CHECK-NOT: muli
func.func @step_of_one(%lo: i32, %hi: i32) -> i32 {
  %one = arith.constant 1 : i32
  %sum = scf.for %i = %lo to %hi step %one iter_args(%acc = %lo) -> i32 : i32 {
    %next = arith.addi %acc, %i : i32
    scf.yield %next : i32
  }
  return %sum : i32
}

// Far from the end: a known bound, and an i32 in a loop over i64.
// CHECK-LABEL: @known_bounds
// CHECK-NOT: divui
// CHECK: scf.for %{{.*}} = %arg0 to %{{.*}} step %{{.*}} iter_args
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK-NOT: muli
func.func @known_bounds(%lo: i32, %hi: i32) -> i64 {
  %four = arith.constant 4 : i32
  %end = arith.constant 2147483640 : i32
  %sum = scf.for %i = %lo to %end step %four iter_args(%acc = %lo) -> i32 : i32 {
    %next = arith.addi %acc, %i : i32
    scf.yield %next : i32
  }
  %wide_four = arith.constant 4 : i64
  %wide_lo = arith.extsi %sum : i32 to i64
  %wide_hi = arith.extsi %hi : i32 to i64
  %wide = scf.for %i = %wide_lo to %wide_hi step %wide_four iter_args(%acc = %wide_lo) -> i64 : i64 {
    %next = arith.addi %acc, %i : i64
    scf.yield %next : i64
  }
  return %wide : i64
}
