// Statements of kernels.
//
// A `return` under a run-time condition becomes structured control flow: what follows the `if`
// moves into the arm that does not return. For that, statement lists run in continuation style:
// `rest` is what remains at the level around, and each statement list runs it exactly once, unless
// the function has returned on every path. Where both arms may go on, a flag says at run time
// whether the function has returned, and the remainder stands under it (`guarded`).

#include "emit/Interp.h"
#include "emit/KernelSyntax.h"

#include "ir/TileOps.h"
#include "ops/Objects.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace nereid::emit {

using namespace syntax;

namespace {

// The number in a scalar that is known all the same: `tl.cdiv` of constexprs is a tile, and kernels
// annotate it `tl.constexpr`.
std::optional<Value> knownInteger(const Value &value) {
  llvm::APInt number;
  if (!value.isTile() || value.asTile().type.isBlock() ||
      !matchPattern(value.asTile().value, mlir::m_ConstantInt(&number)))
    return std::nullopt;
  const Type &type = value.asTile().type;
  if (type.isBool())
    return Value(!number.isZero());
  if (!type.isSigned() && number.isNegative())
    return std::nullopt; // beyond 63 bits
  return Value(number.getSExtValue());
}

} // namespace

bool Interp::returns(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::Return:
    return true;
  case StmtKind::If:
  case StmtKind::For:
  case StmtKind::While:
  case StmtKind::With:
    return bodyFacts(stmt).returns;
  default:
    return false;
  }
}

// with_stmt = "with" item { "," item } ":" block
// Managers are objects that are known while compiling: what their `__enter__` and `__exit__` build
// stands around the body.
void Interp::execKernelWith(const With &stmt) {
  if (returns(stmt))
    failAt(stmt, "UnsupportedSyntax", "a kernel can't return out of a `with` block",
           "keep the value in a variable and return it behind the block");
  std::vector<Value> leaves;
  for (const WithItem &item : stmt.items) {
    Value manager = unboxed(eval(item.contextExpr));
    std::optional<Value> enter, leave;
    if (!manager.isTile()) {
      enter = attribute(manager, "__enter__");
      leave = attribute(manager, "__exit__");
    }
    if (!enter || !leave)
      failAt(*item.contextExpr, "UnsupportedSyntax",
             "`with` needs an object that has `__enter__` and `__exit__`, not a `" +
                 manager.typeName() + "`");
    leaves.push_back(*leave);
    Value entered = call(*enter, {}, {});
    if (item.optionalVars)
      assignKernel(*item.optionalVars, std::move(entered));
  }
  execKernel(stmt.body, 0, [] {});
  frame->node = &stmt;
  for (; !leaves.empty(); leaves.pop_back())
    call(leaves.back(), {Value(), Value(), Value()}, {});
}

void Interp::execKernel(Span<Stmt *> body, size_t from, Rest rest) {
  for (size_t i = from; i < body.size(); ++i) {
    const Stmt &stmt = *body[i];
    frame->node = &stmt;
    step();
    if (returns(stmt) && stmt.kind != StmtKind::Return) {
      auto remainder = [&] { execKernel(body, i + 1, rest); };
      if (stmt.kind == StmtKind::If)
        return execKernelIf(cast<If>(&stmt), remainder);
      if (stmt.kind == StmtKind::For)
        return execKernelFor(cast<For>(&stmt), remainder);
    }
    execKernelSimple(stmt);
    if (isDead())
      return;
  }
  rest();
}

void Interp::guarded(Rest rest) {
  Returned &returned = frame->returned;
  if (returned.state == Returned::State::Always)
    return;
  if (returned.state == Returned::State::No)
    return rest();
  const Node &node = *frame->node;
  mlir::Value flag = returned.flag;
  Returned before = returned;
  Arm done = buildArm(node, [&] {
    frame->returned = before;
    frame->returned.state = Returned::State::Always;
    frame->returned.flag = {};
  });
  Arm going = buildArm(node, [&] {
    frame->returned = {};
    rest();
  });
  joinArms(flag, node, done, going);
}

// `tl.multiple_of(x, 16)` as a statement marks `x` itself: the names that hold `x` now hold the
// hinted value. Only in the block that defines `x`, since a name that a loop or a branch does not
// assign must not change in it.
void Interp::markInPlace(const Value &value) {
  if (!value.isTile())
    return;
  auto &builder = opContext().builder;
  mlir::Value hinted = value.asTile().value;
  while (auto hint = hinted.getDefiningOp<tile::HintOp>()) {
    hinted = hint.getSource();
    // The body of a `while` belongs to no op before it is complete.
    mlir::Operation *owner = hinted.getParentBlock()->getParentOp();
    bool isCarried =
        mlir::isa<mlir::BlockArgument>(hinted) && !mlir::isa_and_present<mlir::func::FuncOp>(owner);
    if (isCarried || hinted.getParentBlock() != builder.getInsertionBlock())
      return;
    std::vector<std::pair<std::string_view, const syntax::Node *>> holders;
    for (const Binding &binding : frame->locals->all())
      if (!binding.deleted && !binding.unusable && binding.value.isTile() &&
          binding.value.asTile().value == hinted)
        holders.emplace_back(binding.name, binding.where);
    for (auto [name, where] : holders)
      frame->locals->set(name, value, where);
  }
}

void Interp::execKernelIf(const If &stmt, Rest rest) {
  // The elif chain is walked with a loop while its conditions are known.
  const If *current = &stmt;
  for (;;) {
    frame->node = current;
    Value condition = unboxed(eval(current->test));
    if (condition.isTile()) {
      const If &branch = *current;
      if (bodyFacts(branch).returns && frame->runtimeLoops)
        failAt(*bodyFacts(branch).returns, "ReturnInLoop",
               "a `return` under a run-time condition can't leave a run-time loop",
               "keep the result in a variable, or make the loop a `tl.static_range`");
      mlir::Value flag = building([&] { return ops::toCondition(opContext(), condition); });
      Arm thenArm = buildArm(branch, [&] { execKernel(branch.body, 0, [] {}); });
      using State = Returned::State;
      if (thenArm.returned.state == State::Always) {
        // Only the other arm goes on, so the rest belongs there.
        Arm elseArm = buildArm(branch, [&] { execKernel(branch.orelse, 0, rest); });
        frame->node = &branch;
        return joinArms(flag, branch, thenArm, elseArm);
      }
      Arm elseArm = buildArm(branch, [&] { execKernel(branch.orelse, 0, [] {}); });
      if (elseArm.returned.state == State::Always) {
        resumeArm(thenArm, branch, rest);
        frame->node = &branch;
        return joinArms(flag, branch, thenArm, elseArm);
      }
      frame->node = &branch;
      joinArms(flag, branch, thenArm, elseArm);
      return guarded(rest);
    }
    if (auto *unknown = condition.as<Unknown>())
      failUnknown(*unknown, "this condition");
    if (truth(condition))
      return execKernel(current->body, 0, rest);
    if (current->orelse.size() == 1 && isa<If>(current->orelse[0])) {
      current = static_cast<const If *>(current->orelse[0]);
      step();
      continue;
    }
    return execKernel(current->orelse, 0, rest);
  }
}

// `tl.multiple_of(x, 16)` as a statement is about every later use of `x`. A value of a region
// around this one keeps its name: the promise does not leave the region.
void Interp::keepHint(const Expr &statement, const Value &value) {
  auto *call = dynCast<Call>(&statement);
  auto *name = call && !call->args.empty() ? dynCast<Name>(call->args[0]) : nullptr;
  auto hint = value.isTile() ? value.asTile().value.getDefiningOp<tile::HintOp>() : tile::HintOp();
  if (!name || !hint || hint.getSource().getParentBlock() != hint->getBlock())
    return;
  const Binding *held = frame->locals->find(name->id);
  if (held && held->value.isTile() && held->value.asTile().value == hint.getSource())
    frame->locals->set(name->id, value, name);
}

void Interp::execKernelAnnAssign(const AnnAssign &assign) {
  Value annotation = unboxed(eval(assign.annotation));
  if (!assign.value) {
    if (auto *name = dynCast<Name>(assign.target); name && isConstexprAnnotation(annotation))
      frame->declaredConstexpr.insert(name->id);
    return;
  }
  Value value = eval(assign.value);
  frame->node = &assign;
  // Of a run-time value the annotation says nothing, as in Triton: what needs a constant refuses
  // it.
  bool constant = isConstexprAnnotation(annotation);
  if (constant) {
    unbox(value);
    if (std::optional<Value> number = knownInteger(value))
      value = std::move(*number);
  }
  assignKernel(*assign.target, std::move(value), /*settles=*/!constant);
  return;
}

void Interp::failAtRaise(const Raise &raised) {
  std::string text;
  if (raised.exc) {
    Value exception = unboxed(eval(raised.exc));
    text = str(exception);
    if (exception.as<Instance>())
      text = exception.as<Instance>()->type->className + (text.empty() ? "" : ": " + text);
  }
  failAt(raised, "Raised",
         text.empty() ? "the kernel raises an exception" : "the kernel raises " + text);
}

void Interp::execKernelSimple(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::ExprStmt: {
    auto &expr = cast<ExprStmt>(&stmt);
    if (isa<Constant>(expr.value))
      return; // a docstring
    Value value = eval(expr.value);
    keepHint(*expr.value, value);
    markInPlace(value);
    return;
  }
  case StmtKind::Assign: {
    auto &assign = cast<Assign>(&stmt);
    Value value = eval(assign.value);
    frame->node = &stmt;
    for (const Expr *target : assign.targets)
      assignKernel(*target, value, /*settles=*/true);
    return;
  }
  case StmtKind::AugAssign: {
    auto &assign = cast<AugAssign>(&stmt);
    if (auto *item = dynCast<Subscript>(assign.target))
      refuseItemAssignment(*item);
    Value old = eval(assign.target);
    Value operand = eval(assign.value);
    frame->node = &stmt;
    assignKernel(*assign.target, binary(assign.op, old, operand), /*settles=*/true);
    return;
  }
  case StmtKind::AnnAssign:
    return execKernelAnnAssign(cast<AnnAssign>(&stmt));
  case StmtKind::Return:
    return execKernelReturn(cast<Return>(&stmt));
  case StmtKind::If:
    return execKernelIf(cast<If>(&stmt), [] {});
  case StmtKind::For:
    return execKernelFor(cast<For>(&stmt), [] {});
  case StmtKind::While:
    return execRuntimeWhile(cast<While>(&stmt));
  case StmtKind::Pass:
    return;
  case StmtKind::Assert: {
    // As Triton has it: an assertion of the device, also where the condition is known already.
    auto &check = cast<Assert>(&stmt);
    Value condition = unboxed(eval(check.test));
    if (!condition.isTile())
      condition = Value(truth(condition));
    Value message = check.msg ? unboxed(eval(check.msg)) : Value::str("");
    frame->node = &stmt;
    const ops::Row *row = ops::find("device_assert");
    callOp(*row, {condition, message.isStr() ? message : Value::str(str(message))}, {});
    return;
  }
  case StmtKind::Raise:
    failAtRaise(cast<Raise>(&stmt));
  case StmtKind::With:
    return execKernelWith(cast<With>(&stmt));
  default: {
    auto refused = unsupportedStatement(stmt).value_or(UnsupportedStatement{"this statement", ""});
    failAt(stmt, "UnsupportedSyntax",
           std::string(refused.name) + " is not part of the kernel language", refused.hint);
  }
  }
}

namespace {

bool containsNumber(const Value &value) {
  if (value.isTuple())
    for (const Value &item : value.items())
      if (containsNumber(item))
        return true;
  return value.isNumber();
}

} // namespace

// What a plain assignment or a `return` makes of a value: numbers become scalar tiles.
Value Interp::settle(const Value &valueIn, std::string_view what) {
  const Value &value = unboxed(valueIn);
  if (frame->isPython)
    return value;
  if (auto *unknown = value.as<Unknown>())
    failUnknown(*unknown, what);
  if (value.isNumber())
    return building([&] { return Value(ops::toTile(opContext(), value)); });
  if (value.isTuple() && containsNumber(value)) {
    std::vector<Value> items;
    for (const Value &item : value.items())
      items.push_back(settle(item, what));
    return tupleLike(*value.as<ops::Tuple>(), std::move(items));
  }
  if (value.isList()) {
    std::vector<Value> items;
    for (const Value &item : value.items())
      items.push_back(settle(item, what));
    return Value::tuple(std::move(items));
  }
  return value;
}

// Triton binds names one by one and never looks at what is left: public kernels say
// `i, j = f(), g(), h()` and take the first two.
void Interp::dropSurplus(Span<Expr *> targets, std::vector<Value> &items) {
  bool takesRest = llvm::any_of(targets, [](Expr *one) { return isa<Starred>(one); });
  if (frame->isPython || takesRest || items.size() <= targets.size())
    return;
  note("ValuesDropped",
       std::to_string(items.size()) + " values are unpacked into " +
           std::to_string(targets.size()) + " names, and the last " +
           (items.size() - targets.size() == 1 ? "is" : "are") + " dropped, as Triton does",
       "give each value a name");
  items.resize(targets.size());
}

void Interp::assignKernel(const Expr &target, Value value, bool settles) {
  switch (target.kind) {
  case ExprKind::Name: {
    Identifier name = cast<Name>(&target).id;
    if (settles && !frame->declaredConstexpr.count(name))
      value = settle(value, "an assigned value");
    frame->locals->set(name, std::move(value), &target);
    return;
  }
  case ExprKind::Tuple:
  case ExprKind::List: {
    Span<Expr *> targets =
        target.kind == ExprKind::Tuple ? cast<Tuple>(&target).elts : cast<List>(&target).elts;
    frame->node = &target;
    std::vector<Value> items = iterate(value);
    dropSurplus(targets, items);
    std::string misfit = unpack(
        targets, items, [](std::vector<Value> rest) { return Value::tuple(std::move(rest)); },
        [&](const Expr &one, Value item) { assignKernel(one, std::move(item), settles); });
    if (!misfit.empty())
      failAt(target, "UnpackMismatch", std::move(misfit));
    return;
  }
  case ExprKind::Attribute: {
    auto &attribute = cast<Attribute>(&target);
    Value object = eval(attribute.value);
    frame->node = &target;
    auto *aggregate = object.as<AggregateValue>();
    if (!aggregate || aggregate != frame->constructing)
      failAt(target, "UnsupportedSyntax", "attributes can't be assigned to in a kernel",
             aggregate ? "make a new `" + aggregate->type->className + "` with the changed field"
                       : "");
    setAttribute(object, attribute.attr, std::move(value));
    return;
  }
  case ExprKind::Subscript:
    refuseItemAssignment(cast<Subscript>(&target));
  default:
    failAt(target, "UnsupportedSyntax", "this can't be assigned to in a kernel");
  }
}

void Interp::refuseItemAssignment(const Subscript &target) {
  Value object = unboxed(eval(target.value));
  if (object.isTuple())
    failAt(target, "UnsupportedSyntax", "items of a tuple can't be assigned to",
           "lists in kernels are tuples: make a new one, as in `(a[0], new, a[2])`");
  bool isPointer = object.isTile() && object.asTile().type.isPointer();
  failAt(target, "UnsupportedSyntax",
         isPointer ? "a pointer can't be assigned through"
                   : "elements of a tile can't be assigned to",
         isPointer ? "write memory with `tl.store(pointer + index, value)`"
                   : "use `tl.where` to choose elements, or `tl.store` to write memory");
}

void Interp::execKernelReturn(const Return &stmt) {
  if (frame->runtimeLoops)
    failAt(stmt, "ReturnInLoop", "a `return` can't leave a run-time loop",
           "keep the result in a variable, or make the loop a `tl.static_range`");
  Value value;
  if (stmt.value)
    value = unboxed(eval(stmt.value));
  if (value.isList())
    value = Value::tuple({value.items().begin(), value.items().end()});
  if (auto *unknown = value.as<Unknown>())
    failUnknown(*unknown, "the returned value");
  frame->node = &stmt;
  frame->returned.state = Returned::State::Always;
  frame->returned.flag = {};
  frame->returned.value = std::move(value);
  frame->returned.where = &stmt;
}

void Interp::unroll(const For &stmt, const std::vector<Value> &items, size_t from, Rest rest) {
  for (size_t i = from; i < items.size(); ++i) {
    frame->node = &stmt;
    step();
    assignKernel(*stmt.target, items[i]);
    if (bodyFacts(stmt).returns) {
      execKernel(stmt.body, 0, [&] { unroll(stmt, items, i + 1, rest); });
      return;
    }
    execKernel(stmt.body, 0, [] {});
    if (isDead())
      return;
  }
  execKernel(stmt.orelse, 0, rest);
}

void Interp::execKernelFor(const For &stmt, Rest rest) {
  if (stmt.isAsync)
    fail("UnsupportedSyntax", "`async for` is not part of the kernel language");
  Value source = unboxed(eval(stmt.iter));
  frame->node = &stmt;
  auto *range = source.as<ops::RangeValue>();
  if (range && !range->isStatic) {
    execRuntimeFor(stmt, source);
    // Without `break`, the `else` of a loop always runs.
    execKernel(stmt.orelse, 0, rest);
    return;
  }
  std::vector<Value> items;
  if (range) {
    int64_t start = asInt(range->start, "the start of `tl.static_range`");
    int64_t stop = asInt(range->stop, "the end of `tl.static_range`");
    int64_t stride = asInt(range->step, "the step of `tl.static_range`");
    if (stride == 0)
      failAt(*stmt.iter, "ZeroStep", "the step of a range can't be 0");
    PythonRange known(start, stop, stride);
    if (uint64_t(known.size()) > std::min<uint64_t>(stepsLeft, 1u << 20))
      failAt(*stmt.iter, "TooManySteps",
             "`tl.static_range` would unroll " + std::to_string(known.size()) + " iterations",
             "use `tl.range`, which is a loop at run time");
    for (int64_t i = 0; i < known.size(); ++i)
      items.push_back(Value(start + i * stride));
  } else if (source.isTuple() || source.isList() || source.as<PythonRange>()) {
    items = iterate(source);
  } else {
    failAt(*stmt.iter, "UnsupportedIterator",
           "a `for` loop in a kernel can't run over a `" + source.typeName() + "`",
           "use `range`, `tl.range` or `tl.static_range`");
  }
  unroll(stmt, items, 0, rest);
}

} // namespace nereid::emit
