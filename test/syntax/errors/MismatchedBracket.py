# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:6:21: error: `]` does not close `(` [MismatchedBracket]
# CHECK-NEXT:    6 | x = tl.zeros((16, 16], dtype=tl.float32)
# CHECK-NEXT:      |              ~      ^
# CHECK-NEXT:      |              opened here
x = tl.zeros((16, 16], dtype=tl.float32)
