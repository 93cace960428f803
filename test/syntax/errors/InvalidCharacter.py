# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:6:5: error: character `“` (U+201C) is not part of the language [InvalidCharacter]
# CHECK-NEXT:    6 | x = “hello”
# CHECK-NEXT:      |     ^
# CHECK-NEXT:   hint: write a plain quote, `'` or `"`
x = “hello”
