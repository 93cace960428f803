# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:6:12: error: parameter `b` has no default but follows one that has [BadParameter]
# CHECK-NEXT:    6 | def f(a=1, b):
# CHECK-NEXT:      |            ^
# CHECK-NEXT:   hint: give it one, or put it first
def f(a=1, b):
    return a
