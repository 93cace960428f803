# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:8:7: error: unexpected indentation [BadIndent]
# CHECK-NEXT:    8 |       z = y
# CHECK-NEXT:      |       ^
# CHECK-NEXT:   hint: only the line after a `:` starts a deeper block
def f(x):
    y = x
      z = y
