// Calls a function with a node of the tree as what it is.
#pragma once

#include "syntax/Ast.h"

namespace nereid::syntax {

#define NEREID_CASE(Kind, Class)                                                                   \
  case Kind::Class:                                                                                \
    return visit(static_cast<const Class &>(node));

/// `visit(node)`, with the class that the node's kind says.
template <typename Visit> decltype(auto) dispatch(const Expr &node, Visit &&visit) {
  switch (node.kind) {
    NEREID_CASE(ExprKind, BoolOp)
    NEREID_CASE(ExprKind, NamedExpr)
    NEREID_CASE(ExprKind, BinOp)
    NEREID_CASE(ExprKind, UnaryOp)
    NEREID_CASE(ExprKind, Lambda)
    NEREID_CASE(ExprKind, IfExp)
    NEREID_CASE(ExprKind, Dict)
    NEREID_CASE(ExprKind, Set)
    NEREID_CASE(ExprKind, ListComp)
    NEREID_CASE(ExprKind, SetComp)
    NEREID_CASE(ExprKind, DictComp)
    NEREID_CASE(ExprKind, GeneratorExp)
    NEREID_CASE(ExprKind, Await)
    NEREID_CASE(ExprKind, Yield)
    NEREID_CASE(ExprKind, YieldFrom)
    NEREID_CASE(ExprKind, Compare)
    NEREID_CASE(ExprKind, Call)
    NEREID_CASE(ExprKind, FormattedValue)
    NEREID_CASE(ExprKind, JoinedStr)
    NEREID_CASE(ExprKind, Constant)
    NEREID_CASE(ExprKind, Attribute)
    NEREID_CASE(ExprKind, Subscript)
    NEREID_CASE(ExprKind, Starred)
    NEREID_CASE(ExprKind, Name)
    NEREID_CASE(ExprKind, List)
    NEREID_CASE(ExprKind, Tuple)
    NEREID_CASE(ExprKind, Slice)
  }
  __builtin_unreachable();
}

template <typename Visit> decltype(auto) dispatch(const Stmt &node, Visit &&visit) {
  switch (node.kind) {
    NEREID_CASE(StmtKind, FunctionDef)
    NEREID_CASE(StmtKind, ClassDef)
    NEREID_CASE(StmtKind, Return)
    NEREID_CASE(StmtKind, Delete)
    NEREID_CASE(StmtKind, Assign)
    NEREID_CASE(StmtKind, TypeAlias)
    NEREID_CASE(StmtKind, AugAssign)
    NEREID_CASE(StmtKind, AnnAssign)
    NEREID_CASE(StmtKind, For)
    NEREID_CASE(StmtKind, While)
    NEREID_CASE(StmtKind, If)
    NEREID_CASE(StmtKind, With)
    NEREID_CASE(StmtKind, Match)
    NEREID_CASE(StmtKind, Raise)
    NEREID_CASE(StmtKind, Try)
    NEREID_CASE(StmtKind, Assert)
    NEREID_CASE(StmtKind, Import)
    NEREID_CASE(StmtKind, ImportFrom)
    NEREID_CASE(StmtKind, Global)
    NEREID_CASE(StmtKind, Nonlocal)
    NEREID_CASE(StmtKind, ExprStmt)
    NEREID_CASE(StmtKind, Pass)
    NEREID_CASE(StmtKind, Break)
    NEREID_CASE(StmtKind, Continue)
  }
  __builtin_unreachable();
}

#undef NEREID_CASE

} // namespace nereid::syntax
