# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:9:1: error: expected an indented block after `if` [MissingIndent]
# CHECK-NEXT:    9 | pass
# CHECK-NEXT:      | ^^^^
# CHECK-NEXT:    8 | if x:
# CHECK-NEXT:      | ~~ the block belongs to this line
# CHECK-NEXT:   hint: indent the lines of the block, or write `pass`
if x:
pass
