# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:6:1: error: cannot assign to an expression [InvalidTarget]
# CHECK-NEXT:    6 | a + b = c
# CHECK-NEXT:      | ^^^^^
# CHECK-NEXT:   hint: write `==` to compare
a + b = c
