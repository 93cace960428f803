# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:7:12: error: `(` is never closed [UnclosedBracket]
# CHECK-NEXT:    7 | x = tl.load(p + i
# CHECK-NEXT:      |            ^
# CHECK-NEXT:    8 | y = x + 1
# CHECK-NEXT:      | ~ no closing bracket before this
x = tl.load(p + i
y = x + 1
