# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:6:8: error: `\u` needs 4 hexadecimal digits, not 0 [InvalidEscape]
# CHECK-NEXT:    6 | s = 'C:\users\x9'
# CHECK-NEXT:      |        ^^
# CHECK-NEXT:   hint: write `\\` for a backslash, or an `r"..."` string
s = 'C:\users\x9'
