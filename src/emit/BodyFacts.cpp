// What statement lists assign and whether they return: found by one walk over the tree, remembered.

#include "emit/Interp.h"

namespace nereid::emit {

using namespace syntax;

void targetNames(const Expr &target, std::vector<std::string_view> &names) {
  switch (target.kind) {
  case ExprKind::Name:
    names.push_back(cast<Name>(&target).id);
    return;
  case ExprKind::Tuple:
    for (const Expr *item : cast<Tuple>(&target).elts)
      targetNames(*item, names);
    return;
  case ExprKind::List:
    for (const Expr *item : cast<List>(&target).elts)
      targetNames(*item, names);
    return;
  case ExprKind::Starred:
    return targetNames(*cast<Starred>(&target).value, names);
  default:
    return;
  }
}

namespace {

struct Walker {
  std::vector<std::string_view> names;
  const Return *returns = nullptr;
  bool yields = false;

  void exprs(Span<Expr *> list) {
    for (const Expr *item : list)
      expr(item);
  }
  void clauses(Span<Comprehension> generators) {
    for (const Comprehension &clause : generators) {
      expr(clause.iter);
      exprs(clause.ifs);
    }
  }
  // Looks for `:=` and `yield`. The left spine, which may be long, is walked with a loop.
  void expr(const Expr *node) {
    while (node) {
      switch (node->kind) {
      case ExprKind::NamedExpr:
        targetNames(*cast<NamedExpr>(node).target, names);
        node = cast<NamedExpr>(node).value;
        continue;
      case ExprKind::Yield:
        yields = true;
        node = cast<Yield>(node).value;
        continue;
      case ExprKind::YieldFrom:
        yields = true;
        node = cast<YieldFrom>(node).value;
        continue;
      case ExprKind::Await:
        node = cast<Await>(node).value;
        continue;
      case ExprKind::BoolOp:
        return exprs(cast<BoolOp>(node).values);
      case ExprKind::BinOp:
        expr(cast<BinOp>(node).right);
        node = cast<BinOp>(node).left;
        continue;
      case ExprKind::UnaryOp:
        node = cast<UnaryOp>(node).operand;
        continue;
      case ExprKind::IfExp:
        expr(cast<IfExp>(node).test);
        expr(cast<IfExp>(node).body);
        node = cast<IfExp>(node).orelse;
        continue;
      case ExprKind::Dict:
        exprs(cast<Dict>(node).keys);
        return exprs(cast<Dict>(node).values);
      case ExprKind::Set:
        return exprs(cast<Set>(node).elts);
      case ExprKind::List:
        return exprs(cast<List>(node).elts);
      case ExprKind::Tuple:
        return exprs(cast<Tuple>(node).elts);
      case ExprKind::ListComp:
        expr(cast<ListComp>(node).elt);
        return clauses(cast<ListComp>(node).generators);
      case ExprKind::SetComp:
        expr(cast<SetComp>(node).elt);
        return clauses(cast<SetComp>(node).generators);
      case ExprKind::GeneratorExp:
        expr(cast<GeneratorExp>(node).elt);
        return clauses(cast<GeneratorExp>(node).generators);
      case ExprKind::DictComp:
        expr(cast<DictComp>(node).key);
        expr(cast<DictComp>(node).value);
        return clauses(cast<DictComp>(node).generators);
      case ExprKind::Compare:
        exprs(cast<Compare>(node).comparators);
        node = cast<Compare>(node).left;
        continue;
      case ExprKind::Call:
        exprs(cast<Call>(node).args);
        for (const Keyword &keyword : cast<Call>(node).keywords)
          expr(keyword.value);
        node = cast<Call>(node).func;
        continue;
      case ExprKind::FormattedValue:
        node = cast<FormattedValue>(node).value;
        continue;
      case ExprKind::JoinedStr:
        return exprs(cast<JoinedStr>(node).values);
      case ExprKind::Attribute:
        node = cast<Attribute>(node).value;
        continue;
      case ExprKind::Subscript:
        expr(cast<Subscript>(node).slice);
        node = cast<Subscript>(node).value;
        continue;
      case ExprKind::Starred:
        node = cast<Starred>(node).value;
        continue;
      case ExprKind::Slice:
        expr(cast<Slice>(node).lower);
        expr(cast<Slice>(node).upper);
        node = cast<Slice>(node).step;
        continue;
      case ExprKind::Lambda:
      case ExprKind::Constant:
      case ExprKind::Name:
        return;
      }
      return;
    }
  }

  void body(Span<Stmt *> list) {
    for (const Stmt *item : list)
      stmt(*item);
  }
  void stmt(const Stmt &node) {
    switch (node.kind) {
    case StmtKind::Assign:
      for (const Expr *target : cast<Assign>(&node).targets) {
        targetNames(*target, names);
        expr(target);
      }
      return expr(cast<Assign>(&node).value);
    case StmtKind::AugAssign:
      targetNames(*cast<AugAssign>(&node).target, names);
      return expr(cast<AugAssign>(&node).value);
    case StmtKind::AnnAssign:
      if (cast<AnnAssign>(&node).value)
        targetNames(*cast<AnnAssign>(&node).target, names);
      return expr(cast<AnnAssign>(&node).value);
    case StmtKind::For:
      targetNames(*cast<For>(&node).target, names);
      expr(cast<For>(&node).iter);
      body(cast<For>(&node).body);
      return body(cast<For>(&node).orelse);
    case StmtKind::While:
      expr(cast<While>(&node).test);
      body(cast<While>(&node).body);
      return body(cast<While>(&node).orelse);
    case StmtKind::If: {
      const If *chain = &cast<If>(&node);
      for (;;) {
        expr(chain->test);
        body(chain->body);
        if (chain->orelse.size() != 1 || !isa<If>(chain->orelse[0]))
          return body(chain->orelse);
        chain = static_cast<const If *>(chain->orelse[0]);
      }
    }
    case StmtKind::With:
      for (const WithItem &item : cast<With>(&node).items) {
        expr(item.contextExpr);
        if (item.optionalVars)
          targetNames(*item.optionalVars, names);
      }
      return body(cast<With>(&node).body);
    case StmtKind::Try: {
      auto &attempt = cast<Try>(&node);
      body(attempt.body);
      for (const ExceptHandler &handler : attempt.handlers) {
        if (!handler.name.empty())
          names.push_back(handler.name);
        body(handler.body);
      }
      body(attempt.orelse);
      return body(attempt.finalbody);
    }
    case StmtKind::Match:
      for (const MatchCase &arm : cast<Match>(&node).cases)
        body(arm.body);
      return;
    case StmtKind::Import:
      for (const Alias &alias : cast<Import>(&node).names)
        names.push_back(alias.asname.empty() ? alias.name.substr(0, alias.name.find('.'))
                                             : alias.asname);
      return;
    case StmtKind::ImportFrom:
      for (const Alias &alias : cast<ImportFrom>(&node).names)
        names.push_back(alias.asname.empty() ? alias.name : alias.asname);
      return;
    case StmtKind::FunctionDef:
      names.push_back(cast<FunctionDef>(&node).name);
      return;
    case StmtKind::ClassDef:
      names.push_back(cast<ClassDef>(&node).name);
      return;
    case StmtKind::Return:
      if (!returns)
        returns = static_cast<const Return *>(&node);
      return expr(cast<Return>(&node).value);
    case StmtKind::ExprStmt:
      return expr(cast<ExprStmt>(&node).value);
    case StmtKind::Assert:
      return expr(cast<Assert>(&node).test);
    case StmtKind::Raise:
      return expr(cast<Raise>(&node).exc);
    default:
      return;
    }
  }
};

} // namespace

const BodyFacts &Interp::bodyFacts(const Stmt &stmt) {
  auto [it, isNew] = bodies.try_emplace(&stmt);
  BodyFacts &facts = it->second;
  if (!isNew)
    return facts;
  Walker walker;
  walker.stmt(stmt);
  facts.returns = walker.returns;
  std::set<std::string_view> seen;
  for (std::string_view name : walker.names)
    if (seen.insert(name).second)
      facts.assigned.push_back(name);
  return facts;
}

bool isGenerator(const FunctionDef &def) {
  Walker walker;
  walker.body(def.body);
  return walker.yields;
}

} // namespace nereid::emit
