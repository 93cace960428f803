# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:7:15: error: expected `,` or `)` before `mask` [MissingComma]
# CHECK-NEXT:    7 | x = tl.load(p mask=m)
# CHECK-NEXT:      |             ~ ^
# CHECK-NEXT:      |             after this
# CHECK-NEXT:   hint: is a comma missing?
x = tl.load(p mask=m)
