// Run-time branches: `if` statements and expressions whose condition is not known while compiling.
//
// Both arms are built in regions of their own, then joined: a name whose value differs between them
// becomes a result of the op. What a value is made of besides tiles (tuple structure, constexprs,
// block shapes) must agree; tiles must agree in type.

#include "emit/Interp.h"

#include "ops/Build.h"
#include "ops/Objects.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace nereid::emit {

using namespace syntax;
using State = Returned::State;

Interp::Arm Interp::buildArm(const Node &node, llvm::function_ref<void()> body) {
  mlir::OpBuilder &builder = kernel->builder;
  mlir::OpBuilder::InsertionGuard guard(builder);
  Arm arm;
  arm.region = std::make_unique<mlir::Region>();
  builder.createBlock(arm.region.get());
  Names before = *frame->locals;
  Returned returned = frame->returned;
  frame->node = &node;
  body();
  arm.names = std::move(*frame->locals);
  arm.returned = frame->returned;
  *frame->locals = std::move(before);
  frame->returned = returned;
  return arm;
}

void Interp::resumeArm(Arm &arm, const Node &node, llvm::function_ref<void()> body) {
  mlir::OpBuilder &builder = kernel->builder;
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&arm.block());
  Names before = *frame->locals;
  Returned returned = frame->returned;
  *frame->locals = std::move(arm.names);
  frame->returned = arm.returned;
  frame->node = &node;
  guarded(body);
  arm.names = std::move(*frame->locals);
  arm.returned = frame->returned;
  *frame->locals = std::move(before);
  frame->returned = returned;
}

// A value to yield from an arm whose result is never used.
Tile Interp::filler(const Type &type) {
  return building([&] {
    ops::OpContext &context = opContext();
    if (type.isDescriptor()) {
      Tile base = filler(Type::pointer(type.element()));
      mlir::Value zero = ops::zero(context, ops::int64()).value;
      std::vector<mlir::Value> zeros(type.shape().size(), zero);
      return Tile{context.builder.create<tile::MakeDescOp>(context.loc, ops::lowered(context, type),
                                                           base.value, zeros, zeros),
                  type};
    }
    if (type.isPointer()) {
      Tile address = ops::zero(context, type.withElement(ops::int64()));
      return ops::build<tile::IntToPtrOp>(context, type, address.value);
    }
    return ops::zero(context, type);
  });
}

/// Collects what an `if` has to yield. Values from both sides go in, a template of the joined value
/// comes out, in which joined tiles are missing until the op exists.
class Interp::Joiner {
public:
  Joiner(Interp &interp, Arm &thenArm, Arm &elseArm)
      : interp(interp), thenArm(thenArm), elseArm(elseArm) {}

  /// Why two values can't be joined.
  struct Mismatch {
    std::string what;
  };

  Value join(const Value &a, const Value &b) {
    if (identical(a, b))
      return a;
    if (a.isTile() || b.isTile() || (a.isNumber() && b.isNumber())) {
      std::optional<Tile> x = asTile(a, thenArm), y = asTile(b, elseArm);
      if (!x || !y || !(x->type == y->type))
        throw Mismatch{describeValue(a) + " and " + describeValue(b)};
      return joinTiles(*x, *y);
    }
    if (a.isTuple() && b.isTuple()) {
      if (a.items().size() != b.items().size())
        throw Mismatch{describeValue(a) + " and " + describeValue(b)};
      std::vector<Value> items;
      for (size_t i = 0; i < a.items().size(); ++i)
        items.push_back(join(a.items()[i], b.items()[i]));
      return tupleLike(*a.as<ops::Tuple>(), std::move(items));
    }
    if (auto *x = a.as<ops::Aggregate>())
      if (auto *y = b.as<ops::Aggregate>()) {
        if (!x->sameShape(*y))
          throw Mismatch{describeValue(a) + " and " + describeValue(b)};
        std::vector<Tile> all = x->tiles(), others = y->tiles();
        for (size_t i = 0; i < all.size(); ++i)
          if (all[i].value != others[i].value)
            all[i] = joinTiles(all[i], others[i]).asTile();
        return x->withTiles(all);
      }
    if (ops::equal(a, b))
      return a;
    throw Mismatch{describeValue(a) + " and " + describeValue(b)};
  }

  /// Builds at the end of an arm.
  template <typename F> auto at(Arm &arm, F f) {
    mlir::OpBuilder::InsertionGuard guard(interp.kernel->builder);
    interp.kernel->builder.setInsertionPointToEnd(&arm.block());
    return f();
  }

  /// A value that only one arm has; the other yields fillers. Tiles from before the `if` need none.
  Value take(const Value &value, bool fromThen) {
    return mapTiles(value, [&](const Tile &tile) {
      mlir::Value handle = tile.value;
      mlir::Block *block = handle.getParentBlock();
      Arm &arm = fromThen ? thenArm : elseArm;
      if (block != &arm.block())
        return tile; // defined before
      Tile other = at(fromThen ? elseArm : thenArm, [&] { return interp.filler(tile.type); });
      return fromThen ? joinTiles(tile, other).asTile() : joinTiles(other, tile).asTile();
    });
  }

  /// Replaces the missing tiles of a template by the next results.
  Value fill(const Value &value) {
    return mapTiles(value, [&](const Tile &tile) {
      return tile.value ? tile : Tile{results[next++], tile.type};
    });
  }
  mlir::Value nextResult() { return results[next++]; }

  /// Whether the function has returned behind the `if`, and what: a template. Where `flag` is
  /// missing, it is the next result.
  Returned joinReturned(mlir::Value condition, const Node &node);

  /// What a name is behind the `if`: a template, or the reason why it can't be used.
  struct Change {
    std::string_view name;
    Value value;
    const Node *where;
    std::optional<Unusable> poison;
  };
  /// The names that differ from before; none if nothing follows.
  std::vector<Change> joinNames(const Node &node);

  /// Makes the `scf.if`, unless there is nothing in it.
  void createIf(mlir::Location loc, mlir::Value condition);

private:
  bool isLive(const Arm &arm) const { return arm.returned.state != State::Always; }
  bool mayReturn(const Arm &arm) const { return arm.returned.state != State::No; }
  mlir::Value constant(bool value) {
    return interp.building([&] { return ops::toTile(interp.opContext(), Value(value)).value; });
  }
  Value joinReturnedValues(const Node &node);
  std::optional<Change> joinName(const Binding &a, const Binding &b, const Node &node);
  std::optional<Change> nameOfLiveArm(const Binding &binding, bool fromThen);
  Change onlyInOneArm(const Binding &binding) const;
  [[noreturn]] void failMismatch(const Binding &a, const Binding &b, const std::string &what,
                                 const Node &node);

  Value joinTiles(const Tile &a, const Tile &b) {
    thenYields.push_back(a.value);
    elseYields.push_back(b.value);
    return Value(Tile{mlir::Value(), a.type});
  }
  std::optional<Tile> asTile(const Value &value, Arm &arm) {
    if (value.isTile())
      return value.asTile();
    if (!value.isNumber())
      return std::nullopt;
    return at(arm, [&] {
      return interp.building([&] { return ops::toTile(interp.opContext(), value); });
    });
  }

  Interp &interp;
  Arm &thenArm, &elseArm;
  llvm::SmallVector<mlir::Value> thenYields, elseYields, results;
  size_t next = 0; ///< of `results`
};

Returned Interp::Joiner::joinReturned(mlir::Value condition, const Node &node) {
  Returned returned;
  if (!mayReturn(thenArm) && !mayReturn(elseArm))
    return returned;
  returned.where = thenArm.returned.where ? thenArm.returned.where : elseArm.returned.where;
  returned.state = isLive(thenArm) || isLive(elseArm) ? State::Maybe : State::Always;
  if (returned.state == State::Maybe) {
    if (!isLive(thenArm) && !mayReturn(elseArm)) {
      returned.flag = condition;
    } else if (!isLive(elseArm) && !mayReturn(thenArm)) {
      mlir::Value yes = constant(true);
      returned.flag = interp.building([&] {
        ops::OpContext &context = interp.opContext();
        return mlir::Value(
            context.builder.create<mlir::arith::XOrIOp>(context.loc, condition, yes));
      });
    } else {
      auto flagOf = [&](Arm &arm) {
        return arm.returned.state == State::Maybe ? arm.returned.flag
                                                  : at(arm, [&] { return constant(!isLive(arm)); });
      };
      mlir::Value a = flagOf(thenArm), b = flagOf(elseArm);
      joinTiles({a, ops::int1()}, {b, ops::int1()});
    }
  }
  returned.value = joinReturnedValues(node);
  return returned;
}

Value Interp::Joiner::joinReturnedValues(const Node &node) {
  const Value a = thenArm.returned.value.value_or(Value());
  const Value b = elseArm.returned.value.value_or(Value());
  if (!mayReturn(thenArm) || !mayReturn(elseArm))
    return mayReturn(thenArm) ? take(a, true) : take(b, false);
  try {
    // A number that a run-time condition chooses is no constexpr.
    auto settled = [&](Arm &arm, const Value &value) {
      return at(arm, [&] { return interp.settle(value, "a return"); });
    };
    Value x = settled(thenArm, a), y = settled(elseArm, b);
    return join(x, y);
  } catch (Mismatch &mismatch) {
    const Node &second = elseArm.returned.where ? *elseArm.returned.where : node;
    EvalError failure = interp.error(
        second, "ReturnMismatch", "run-time paths of the function return " + mismatch.what,
        "all `return`s that a run-time condition chooses between must agree in type");
    if (thenArm.returned.where)
      failure.diagnostic.labels.push_back({interp.rangeOf(*thenArm.returned.where), "the other"});
    throw failure;
  }
}

std::vector<Interp::Joiner::Change> Interp::Joiner::joinNames(const Node &node) {
  std::vector<Change> changes;
  auto add = [&](std::optional<Change> change) {
    if (change)
      changes.push_back(std::move(*change));
  };
  if (isLive(thenArm) && isLive(elseArm)) {
    for (const Binding &a : thenArm.names.all())
      if (!a.deleted) {
        const Binding *b = elseArm.names.find(a.name);
        add(b ? joinName(a, *b, node) : onlyInOneArm(a));
      }
    for (const Binding &b : elseArm.names.all())
      if (!b.deleted && !thenArm.names.find(b.name))
        changes.push_back(onlyInOneArm(b));
  } else if (isLive(thenArm) || isLive(elseArm)) {
    const bool fromThen = isLive(thenArm);
    for (const Binding &binding : (fromThen ? thenArm : elseArm).names.all())
      if (!binding.deleted)
        add(nameOfLiveArm(binding, fromThen));
  }
  return changes;
}

Interp::Joiner::Change Interp::Joiner::onlyInOneArm(const Binding &binding) const {
  return {binding.name,
          {},
          nullptr,
          Unusable{"BranchOnly",
                   "is defined in one branch of a run-time `if` only",
                   "define it before the `if`, or in both branches",
                   binding.where ? interp.rangeOf(*binding.where) : SourceRange{},
                   {}}};
}

std::optional<Interp::Joiner::Change> Interp::Joiner::joinName(const Binding &a, const Binding &b,
                                                               const Node &node) {
  const Binding *before = interp.frame->locals->find(a.name);
  if (a.unusable || b.unusable) {
    const Binding &bad = a.unusable ? a : b;
    if (before && before->unusable == bad.unusable)
      return std::nullopt;
    return Change{a.name, {}, nullptr, *bad.unusable};
  }
  if (before && !before->unusable && identical(a.value, before->value) &&
      identical(b.value, before->value))
    return std::nullopt;
  const size_t yields = thenYields.size();
  try {
    return Change{a.name, join(a.value, b.value), a.where, {}};
  } catch (Mismatch &mismatch) {
    if ((a.value.isTile() || a.value.isNumber()) && (b.value.isTile() || b.value.isNumber()))
      failMismatch(a, b, mismatch.what, node);
    // Parts of a tuple may have been joined before the one that differs.
    thenYields.resize(yields);
    elseYields.resize(yields);
    return Change{a.name,
                  {},
                  nullptr,
                  Unusable{"BranchMismatch",
                           "is " + mismatch.what + " after a run-time `if`",
                           "only run-time values can depend on a run-time condition",
                           b.where ? interp.rangeOf(*b.where) : SourceRange{},
                           {}}};
  }
}

std::optional<Interp::Joiner::Change> Interp::Joiner::nameOfLiveArm(const Binding &binding,
                                                                    bool fromThen) {
  const Binding *before = interp.frame->locals->find(binding.name);
  if (binding.unusable) {
    if (before && before->unusable == binding.unusable)
      return std::nullopt;
    return Change{binding.name, {}, nullptr, *binding.unusable};
  }
  if (before && !before->unusable && identical(before->value, binding.value))
    return std::nullopt;
  return Change{binding.name, take(binding.value, fromThen), binding.where, {}};
}

void Interp::Joiner::failMismatch(const Binding &a, const Binding &b, const std::string &what,
                                  const Node &node) {
  bool isKnownBefore = interp.frame->locals->find(a.name);
  EvalError failure = interp.error(
      b.where ? *b.where : node, "BranchMismatch",
      "`" + std::string(a.name) + "` is " + what + " after the two branches of a run-time `if`",
      isKnownBefore ? "give it the same type in both, for example with `.to(...)`"
                    : "give it the same type in both branches");
  if (a.where)
    failure.diagnostic.labels.push_back({interp.rangeOf(*a.where), "the other value"});
  throw failure;
}

void Interp::Joiner::createIf(mlir::Location loc, mlir::Value condition) {
  if (thenYields.empty() && thenArm.block().empty() && elseArm.block().empty())
    return;
  mlir::OpBuilder &builder = interp.kernel->builder;
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : thenYields)
    types.push_back(value.getType());
  auto op = builder.create<mlir::scf::IfOp>(loc, types, condition, /*addThenBlock=*/false,
                                            /*addElseBlock=*/false);
  at(thenArm, [&] { builder.create<mlir::scf::YieldOp>(loc, thenYields); });
  bool needsElse = !types.empty() || !elseArm.block().empty();
  op.getThenRegion().takeBody(*thenArm.region);
  if (needsElse) {
    at(elseArm, [&] { builder.create<mlir::scf::YieldOp>(loc, elseYields); });
    op.getElseRegion().takeBody(*elseArm.region);
  }
  results.assign(op.getResults().begin(), op.getResults().end());
}

void Interp::joinArms(mlir::Value condition, const Node &node, Arm &thenArm, Arm &elseArm) {
  frame->node = &node;
  Joiner joiner(*this, thenArm, elseArm);
  Returned returned = joiner.joinReturned(condition, node);
  std::vector<Joiner::Change> changes = joiner.joinNames(node);
  joiner.createIf(location(node), condition);

  if (returned.state == State::Maybe && !returned.flag)
    returned.flag = joiner.nextResult();
  if (returned.value)
    returned.value = joiner.fill(*returned.value);
  for (Joiner::Change &change : changes) {
    if (change.poison)
      frame->locals->poison(change.name, *change.poison);
    else
      frame->locals->set(change.name, joiner.fill(change.value), change.where);
  }
  frame->returned = returned;
}

Value Interp::runtimeIfExp(const IfExp &expr, const Value &condition) {
  mlir::Value flag = building([&] { return ops::toCondition(opContext(), condition); });
  Value thenValue, elseValue;
  Arm thenArm = buildArm(expr, [&] { thenValue = unboxed(eval(expr.body)); });
  Arm elseArm = buildArm(expr, [&] { elseValue = unboxed(eval(expr.orelse)); });
  Joiner joiner(*this, thenArm, elseArm);
  Value joined;
  // Numbers of different value are run-time values from here on.
  try {
    joined = joiner.join(thenValue, elseValue);
  } catch (Joiner::Mismatch &mismatch) {
    failAt(expr, "BranchMismatch",
           "a run-time conditional expression has the values " + mismatch.what,
           "both must have the same type");
  }
  frame->node = &expr;
  joiner.createIf(location(expr), flag);
  return joiner.fill(joined);
}

} // namespace nereid::emit
