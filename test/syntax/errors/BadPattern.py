# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:7:10: error: an f-string cannot be a pattern [BadPattern]
# CHECK-NEXT:    7 |     case f'a{b}':
# CHECK-NEXT:      |          ^^^^^^^
# CHECK-NEXT:   hint: use a guard: `case x if x == f"..."`
match x:
    case f'a{b}':
        pass
