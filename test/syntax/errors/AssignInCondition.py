# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:7:10: error: `=` cannot stand in `if` [AssignInCondition]
# CHECK-NEXT:    7 |     if x = 3:
# CHECK-NEXT:      |          ^
# CHECK-NEXT:   hint: write `==` to compare, `:=` to bind a name
def f(x):
    if x = 3:
        return x
