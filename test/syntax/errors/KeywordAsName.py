# RUN: not %nereid-ast %s | FileCheck %s --match-full-lines --strict-whitespace
# CHECK:{{.*}}:6:5: error: `lambda` is a keyword and cannot be the name of a function [KeywordAsName]
# CHECK-NEXT:    6 | def lambda(x):
# CHECK-NEXT:      |     ^^^^^^
# CHECK-NEXT:   hint: choose another name, such as `lambda_`
def lambda(x):
    return x
