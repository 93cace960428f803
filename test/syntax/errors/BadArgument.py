# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:6:20: error: a positional argument follows a keyword argument [BadArgument]
# CHECK-NEXT:    6 | tl.load(p, mask=m, 0.0)
# CHECK-NEXT:      |                    ^^^
# CHECK-NEXT:   hint: put positional arguments first
tl.load(p, mask=m, 0.0)
