# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:8:1: error: indentation mixes tabs and spaces in a way that depends on the tab width [TabsAndSpaces]
# CHECK-NEXT:    8 |         z = 2
# CHECK-NEXT:      | ^^^^^^^^
# CHECK-NEXT:   hint: indent with spaces only
if x:
	y = 1
        z = 2
