# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:6:1: error: `print` is a function [PrintStatement]
# CHECK-NEXT:    6 | print "x"
# CHECK-NEXT:      | ^^^^^
# CHECK-NEXT:   hint: write `print(...)`
print "x"
