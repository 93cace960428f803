# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:5:23: error: the conversion after `!` is `s`, `r` or `a`, not `z` [BadFString]
# CHECK-NEXT:    5 | s = f"block {pid}: {x!z}"
# CHECK-NEXT:      |                       ^
s = f"block {pid}: {x!z}"
