// Statements to source text.
#include "syntax/PrinterImpl.h"

namespace nereid::syntax {

void Printer::decorators(const Span<Expr *> &list) {
  for (const Expr *decorator : list) {
    line();
    out += '@';
    expression(*decorator);
    out += '\n';
  }
}

void Printer::typeParams(const Span<TypeParam *> &params) {
  if (params.empty())
    return;
  out += '[';
  list(params, [&](const TypeParam *param) {
    static constexpr const char *stars[] = {"", "**", "*"};
    out += stars[size_t(param->kind)];
    out += param->name;
    optional(": ", param->bound);
    optional(" = ", param->defaultValue);
  });
  out += ']';
}

void Printer::function(const FunctionDef &node) {
  decorators(node.decorators);
  line();
  out += node.isAsync ? "async def " : "def ";
  out += node.name;
  typeParams(node.typeParams);
  out += '(';
  arguments(*node.args, /*annotated=*/true);
  out += ')';
  optional(" -> ", node.returns);
  block(node.body);
}

void Printer::classDef(const ClassDef &node) {
  decorators(node.decorators);
  line();
  out += "class ";
  out += node.name;
  typeParams(node.typeParams);
  if (!node.bases.empty() || !node.keywords.empty()) {
    out += '(';
    callArguments(node.bases, node.keywords);
    out += ')';
  }
  block(node.body);
}

void Printer::ifChain(const If &first) {
  const If *branch = &first;
  const char *keyword = "if ";
  for (;;) {
    line();
    out += keyword;
    expression(*branch->test);
    block(branch->body);
    const If *next = branch->orelse.size() == 1 ? dynCast<If>(branch->orelse[0]) : nullptr;
    if (!next)
      return orelse(branch->orelse);
    branch = next;
    keyword = "elif ";
  }
}

void Printer::with(const With &node) {
  line();
  out += node.isAsync ? "async with " : "with ";
  // `with (a, b):` has two items; one tuple takes parentheses of its own.
  bool single = node.items.size() == 1 && !node.items[0].optionalVars &&
                isa<Tuple>(node.items[0].contextExpr);
  out += single ? "(" : "";
  list(node.items, [&](const WithItem &item) {
    expression(*item.contextExpr);
    optional(" as ", item.optionalVars);
  });
  out += single ? ")" : "";
  block(node.body);
}

void Printer::tryStmt(const Try &node) {
  line();
  out += "try";
  block(node.body);
  for (const ExceptHandler &handler : node.handlers) {
    line();
    out += node.isStar ? "except*" : "except";
    optional(" ", handler.type);
    if (!handler.name.empty()) {
      out += " as ";
      out += handler.name;
    }
    block(handler.body);
  }
  orelse(node.orelse);
  if (!node.finalbody.empty()) {
    line();
    out += "finally";
    block(node.finalbody);
  }
}

void Printer::match(const Match &node) {
  line();
  out += "match ";
  expression(*node.subject);
  out += ":\n";
  ++indent;
  for (const MatchCase &branch : node.cases) {
    line();
    out += "case ";
    pattern(*branch.pattern);
    optional(" if ", branch.guard);
    block(branch.body);
  }
  --indent;
}

void Printer::aliases(const Span<Alias> &names) {
  list(names, [&](const Alias &alias) {
    out += alias.name;
    if (!alias.asname.empty()) {
      out += " as ";
      out += alias.asname;
    }
  });
}

void Printer::statement(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::FunctionDef:
    return function(cast<FunctionDef>(&stmt));
  case StmtKind::ClassDef:
    return classDef(cast<ClassDef>(&stmt));
  case StmtKind::For: {
    const auto &node = cast<For>(&stmt);
    line();
    out += node.isAsync ? "async for " : "for ";
    naked(*node.target);
    out += " in ";
    naked(*node.iter);
    block(node.body);
    return orelse(node.orelse);
  }
  case StmtKind::While: {
    const auto &node = cast<While>(&stmt);
    line();
    optional("while ", node.test);
    block(node.body);
    return orelse(node.orelse);
  }
  case StmtKind::If:
    return ifChain(cast<If>(&stmt));
  case StmtKind::With:
    return with(cast<With>(&stmt));
  case StmtKind::Match:
    return match(cast<Match>(&stmt));
  case StmtKind::Try:
    return tryStmt(cast<Try>(&stmt));
  default:
    line();
    simple(stmt);
    out += '\n';
  }
}

void Printer::simple(const Stmt &stmt) {
  auto names = [&](const char *keyword, const Span<Identifier> &list) {
    out += keyword;
    this->list(list, [&](Identifier name) { out += name; });
  };
  switch (stmt.kind) {
  case StmtKind::Return:
    out += "return";
    if (const Expr *value = cast<Return>(&stmt).value) {
      out += ' ';
      looseTuple(*value);
    }
    return;
  case StmtKind::Delete:
    out += "del ";
    return expressions(cast<Delete>(&stmt).targets);
  case StmtKind::Assign: {
    const auto &node = cast<Assign>(&stmt);
    for (const Expr *target : node.targets) {
      naked(*target);
      out += " = ";
    }
    return naked(*node.value);
  }
  case StmtKind::TypeAlias: {
    const auto &node = cast<TypeAlias>(&stmt);
    optional("type ", node.name);
    typeParams(node.typeParams);
    return optional(" = ", node.value);
  }
  case StmtKind::AugAssign: {
    const auto &node = cast<AugAssign>(&stmt);
    expression(*node.target);
    out += ' ';
    out += BinarySpellings[size_t(node.op)];
    out += "= ";
    return naked(*node.value);
  }
  case StmtKind::AnnAssign: {
    const auto &node = cast<AnnAssign>(&stmt);
    bool parenthesised = !node.simple && isa<Name>(node.target);
    out += parenthesised ? "(" : "";
    expression(*node.target);
    out += parenthesised ? ")" : "";
    optional(": ", node.annotation);
    if (node.value) {
      out += " = ";
      naked(*node.value);
    }
    return;
  }
  case StmtKind::Raise: {
    const auto &node = cast<Raise>(&stmt);
    out += "raise";
    optional(" ", node.exc);
    return optional(" from ", node.cause);
  }
  case StmtKind::Assert: {
    const auto &node = cast<Assert>(&stmt);
    optional("assert ", node.test);
    return optional(", ", node.msg);
  }
  case StmtKind::Import:
    out += "import ";
    return aliases(cast<Import>(&stmt).names);
  case StmtKind::ImportFrom: {
    const auto &node = cast<ImportFrom>(&stmt);
    out += "from ";
    out.append(node.level, '.');
    out += node.module;
    out += " import ";
    return aliases(node.names);
  }
  case StmtKind::Global:
    return names("global ", cast<Global>(&stmt).names);
  case StmtKind::Nonlocal:
    return names("nonlocal ", cast<Nonlocal>(&stmt).names);
  case StmtKind::ExprStmt: {
    const Expr *value = cast<ExprStmt>(&stmt).value;
    const auto *constant = dynCast<Constant>(value);
    if (constant && constant->value.kind == ConstantValue::Kind::Str &&
        !constant->value.unicodePrefix)
      return docString(constant->value.text);
    return naked(*value);
  }
  case StmtKind::Pass:
    out += "pass";
    return;
  case StmtKind::Break:
    out += "break";
    return;
  case StmtKind::Continue:
    out += "continue";
    return;
  default:
    return;
  }
}

} // namespace nereid::syntax
