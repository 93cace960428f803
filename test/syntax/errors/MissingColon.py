# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:5:18: error: expected `:` after `for` [MissingColon]
# CHECK-NEXT:    5 | for i in range(3)
# CHECK-NEXT:      |                  ^
for i in range(3)
    x = i
