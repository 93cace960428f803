# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:6:7: error: `&&` is not an operator [InvalidSyntax]
# CHECK-NEXT:    6 | x = a && b
# CHECK-NEXT:      |       ^^
# CHECK-NEXT:   hint: write `and`
x = a && b
