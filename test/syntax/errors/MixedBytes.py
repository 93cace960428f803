# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:7:9: error: cannot join a bytes literal and a string [MixedBytes]
# CHECK-NEXT:    7 | s = 'a' b'c'
# CHECK-NEXT:      |     ~~~ ^
# CHECK-NEXT:      |     the first part
# CHECK-NEXT:   hint: give both a `b` prefix, or none
s = 'a' b'c'
