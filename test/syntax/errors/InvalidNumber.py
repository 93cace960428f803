# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:5:9: error: digit `8` is not an octal digit [InvalidNumber]
# CHECK-NEXT:    5 | x = 0o128
# CHECK-NEXT:      |         ^
x = 0o128
