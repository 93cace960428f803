# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:6:5: error: this string is not closed on its line [UnterminatedString]
# CHECK-NEXT:    6 | s = 'abc
# CHECK-NEXT:      |     ^
# CHECK-NEXT:   hint: close it with the quote that opened it, or use three quotes for a string of many lines
s = 'abc
t = 1
