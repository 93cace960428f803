// Run-time control flow: `if`, `for` and `while` whose course is not known while compiling.
//
// Bodies are built in regions of their own, then joined: a name whose value differs between the
// arms of an `if`, or before and after the body of a loop, becomes a result of the op. What a value
// is made of besides tiles (tuple structure, constexprs, block shapes) must agree; tiles must agree
// in type.
//
// Which names a loop carries is not known before its body is built. Each tile of a name that the
// body assigns *somewhere* starts as an argument of the body; those that come out unchanged are
// dropped again. A number that the body changes is made a tile, and the body is built once more.
//
// What only the body defines is not carried, until code behind the loop reads it: then the kernel
// is built once more, and that loop hands on what its last step gave the name, or zero.

#include "emit/Interp.h"

#include "ir/OnlyChecked.h"
#include "ops/Build.h"
#include "ops/Objects.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace nereid::emit {

using namespace syntax;
using State = Returned::State;

namespace {

// "an `int32`", "the number 3", for messages about names that change.
std::string describeValue(const Value &value) {
  if (value.isTile())
    return "`" + value.asTile().type.str() + "`";
  if (value.isNumber())
    return "the number " + value.repr();
  if (value.isNone())
    return "`None`";
  if (value.isTuple())
    return "a tuple of " + std::to_string(value.items().size());
  return "`" + value.repr() + "`";
}

} // namespace

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

  mlir::Value flag(mlir::Value a, mlir::Value b) {
    Type type = ops::int1();
    return joinTiles({a, type}, {b, type}).asTile().value; // null: filled in later
  }

  /// Replaces the missing tiles of a template by the next results.
  Value fill(const Value &value) {
    return mapTiles(value, [&](const Tile &tile) {
      return tile.value ? tile : Tile{results[next++], tile.type};
    });
  }
  mlir::Value nextResult() { return results[next++]; }

  llvm::SmallVector<mlir::Value> thenYields, elseYields, results;
  size_t next = 0;

private:
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
};

void Interp::joinArms(mlir::Value condition, const Node &node, Arm &thenArm, Arm &elseArm) {
  Joiner joiner(*this, thenArm, elseArm);
  State thenState = thenArm.returned.state, elseState = elseArm.returned.state;
  bool thenLive = thenState != State::Always, elseLive = elseState != State::Always;

  // Whether the function has returned, and what.
  Returned returned;
  bool yieldsFlag = false, negatesFlag = false;
  if (!thenLive && !elseLive) {
    returned.state = State::Always;
  } else if (thenState != State::No || elseState != State::No) {
    returned.state = State::Maybe;
    if (!thenLive && elseState == State::No) {
      returned.flag = condition;
    } else if (!elseLive && thenState == State::No) {
      negatesFlag = true;
    } else {
      auto flagOf = [&](Arm &arm) {
        if (arm.returned.state == State::Maybe)
          return arm.returned.flag;
        bool ended = arm.returned.state == State::Always;
        return joiner.at(arm, [&] {
          return building([&] { return ops::toTile(opContext(), Value(ended)).value; });
        });
      };
      mlir::Value a = flagOf(thenArm), b = flagOf(elseArm);
      joiner.flag(a, b);
      yieldsFlag = true;
    }
  }
  if (returned.state != State::No) {
    const std::optional<Value> &a = thenArm.returned.value, &b = elseArm.returned.value;
    returned.where = thenArm.returned.where ? thenArm.returned.where : elseArm.returned.where;
    bool aReturns = thenState != State::No, bReturns = elseState != State::No;
    if (aReturns && bReturns) {
      try {
        // A number that a run-time condition chooses is no constexpr.
        auto settled = [&](Arm &arm, const std::optional<Value> &value) {
          return joiner.at(arm, [&] { return settle(value ? *value : Value(), "a return"); });
        };
        Value x = settled(thenArm, a), y = settled(elseArm, b);
        returned.value = joiner.join(x, y);
      } catch (Joiner::Mismatch &mismatch) {
        const Node &second = elseArm.returned.where ? *elseArm.returned.where : node;
        EvalError failure = error(
            second, "ReturnMismatch", "run-time paths of the function return " + mismatch.what,
            "all `return`s that a run-time condition chooses between must agree in type");
        if (thenArm.returned.where)
          failure.diagnostic.labels.push_back({rangeOf(*thenArm.returned.where), "the other"});
        throw failure;
      }
    } else if (aReturns) {
      returned.value = joiner.take(a ? *a : Value(), true);
    } else {
      returned.value = joiner.take(b ? *b : Value(), false);
    }
  }

  // Names, unless nothing follows.
  struct Change {
    std::string_view name;
    Value value;
    const Node *where;
    std::optional<Unusable> poison;
  };
  std::vector<Change> changes;
  auto conflict = [&](std::string_view name, const Binding *a, const Binding *b,
                      const std::string &what, const Binding *before) {
    const Binding *second = b ? b : a;
    EvalError failure = error(second->where ? *second->where : node, "BranchMismatch",
                              "`" + std::string(name) + "` is " + what +
                                  " after the two branches of a run-time `if`",
                              before ? "give it the same type in both, for example with `.to(...)`"
                                     : "give it the same type in both branches");
    if (a && a->where && a != second)
      failure.diagnostic.labels.push_back({rangeOf(*a->where), "the other value"});
    throw failure;
  };
  if (thenLive && elseLive) {
    for (const Binding &a : thenArm.names.all()) {
      if (a.deleted)
        continue;
      const Binding *before = frame->locals->find(a.name);
      const Binding *b = elseArm.names.find(a.name);
      if (!b) {
        changes.push_back({a.name,
                           {},
                           nullptr,
                           Unusable{"BranchOnly",
                                    "is defined in one branch of a run-time `if` only",
                                    "define it before the `if`, or in both branches",
                                    a.where ? rangeOf(*a.where) : SourceRange{},
                                    {}}});
        continue;
      }
      if (a.unusable || b->unusable) {
        const Binding &bad = a.unusable ? a : *b;
        if (!before || before->unusable != bad.unusable)
          changes.push_back({a.name, {}, nullptr, *bad.unusable});
        continue;
      }
      if (before && !before->unusable && identical(a.value, before->value) &&
          identical(b->value, before->value))
        continue;
      try {
        // A failed join may have queued yields already; it ends the emission or needs none.
        size_t yields = joiner.thenYields.size();
        try {
          changes.push_back({a.name, joiner.join(a.value, b->value), a.where, {}});
        } catch (Joiner::Mismatch &) {
          joiner.thenYields.resize(yields);
          joiner.elseYields.resize(yields);
          throw;
        }
      } catch (Joiner::Mismatch &mismatch) {
        bool tiles =
            (a.value.isTile() || a.value.isNumber()) && (b->value.isTile() || b->value.isNumber());
        if (tiles)
          conflict(a.name, &a, b, mismatch.what, before);
        changes.push_back({a.name,
                           {},
                           nullptr,
                           Unusable{"BranchMismatch",
                                    "is " + mismatch.what + " after a run-time `if`",
                                    "only run-time values can depend on a run-time condition",
                                    b->where ? rangeOf(*b->where) : SourceRange{},
                                    {}}});
      }
    }
    for (const Binding &b : elseArm.names.all())
      if (!b.deleted && !thenArm.names.find(b.name))
        changes.push_back({b.name,
                           {},
                           nullptr,
                           Unusable{"BranchOnly",
                                    "is defined in one branch of a run-time `if` only",
                                    "define it before the `if`, or in both branches",
                                    b.where ? rangeOf(*b.where) : SourceRange{},
                                    {}}});
  } else if (thenLive || elseLive) {
    Arm &live = thenLive ? thenArm : elseArm;
    for (const Binding &binding : live.names.all()) {
      if (binding.deleted)
        continue;
      const Binding *before = frame->locals->find(binding.name);
      if (binding.unusable) {
        if (!before || before->unusable != binding.unusable)
          changes.push_back({binding.name, {}, nullptr, *binding.unusable});
        continue;
      }
      if (before && !before->unusable && identical(before->value, binding.value))
        continue;
      changes.push_back({binding.name, joiner.take(binding.value, thenLive), binding.where, {}});
    }
  }

  mlir::OpBuilder &builder = kernel->builder;
  frame->node = &node;
  mlir::Location loc = location(node);
  bool isEmpty = joiner.thenYields.empty() && thenArm.block().empty() && elseArm.block().empty();
  if (!isEmpty) {
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Value value : joiner.thenYields)
      types.push_back(value.getType());
    auto op = builder.create<mlir::scf::IfOp>(loc, types, condition, /*addThenBlock=*/false,
                                              /*addElseBlock=*/false);
    joiner.at(thenArm, [&] { builder.create<mlir::scf::YieldOp>(loc, joiner.thenYields); });
    bool needsElse = !types.empty() || !elseArm.block().empty();
    op.getThenRegion().takeBody(*thenArm.region);
    if (needsElse) {
      joiner.at(elseArm, [&] { builder.create<mlir::scf::YieldOp>(loc, joiner.elseYields); });
      op.getElseRegion().takeBody(*elseArm.region);
    }
    joiner.results.assign(op.getResults().begin(), op.getResults().end());
  }
  if (yieldsFlag)
    returned.flag = joiner.nextResult();
  if (negatesFlag)
    returned.flag = building([&] {
      ops::OpContext &context = opContext();
      mlir::Value yes = ops::toTile(context, Value(true)).value;
      return mlir::Value(builder.create<mlir::arith::XOrIOp>(loc, condition, yes));
    });
  if (returned.value)
    returned.value = joiner.fill(*returned.value);
  for (Change &change : changes) {
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
  mlir::OpBuilder &builder = kernel->builder;
  frame->node = &expr;
  mlir::Location loc = location(expr);
  if (!joiner.thenYields.empty() || !thenArm.block().empty() || !elseArm.block().empty()) {
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Value value : joiner.thenYields)
      types.push_back(value.getType());
    auto op = builder.create<mlir::scf::IfOp>(loc, types, flag, false, false);
    joiner.at(thenArm, [&] { builder.create<mlir::scf::YieldOp>(loc, joiner.thenYields); });
    joiner.at(elseArm, [&] { builder.create<mlir::scf::YieldOp>(loc, joiner.elseYields); });
    op.getThenRegion().takeBody(*thenArm.region);
    op.getElseRegion().takeBody(*elseArm.region);
    joiner.results.assign(op.getResults().begin(), op.getResults().end());
  }
  return joiner.fill(joined);
}

// --- loops ---

/// A name that a loop's body assigns somewhere, and that has a value before the loop.
struct Interp::Carried {
  std::string_view name;
  Value before; ///< the value on entry
  Value inside; ///< the same around the arguments of the body
  const Node *where;
  unsigned firstArgument; ///< index of its first tile among those of all names
  unsigned arguments;
};

/// A name that a loop's body defines and code behind the loop reads.
struct Interp::HandedOn {
  std::string_view name;
  Value value; ///< at the end of the body
  const Node *where;
  std::optional<Unusable> unusable; ///< why it can't be read behind the loop
};

std::vector<Interp::HandedOn> Interp::handedOnBy(const Stmt &stmt, const Names &before) {
  const Node *target = nullptr;
  std::string_view counter;
  if (auto *loop = dynCast<For>(&stmt))
    if (auto *name = dynCast<Name>(loop->target)) {
      target = name;
      counter = name->id;
    }
  std::vector<HandedOn> found;
  for (const Binding &binding : frame->locals->all()) {
    const Binding *known = before.find(binding.name);
    if (binding.deleted || (known && !known->unusable && binding.name != counter))
      continue;
    if (known && known->unusable && known->unusable == binding.unusable)
      continue; // not of this loop
    bool isWanted = kernel->lastSteps.count({&stmt, std::string(binding.name)});
    if (isWanted && binding.unusable && binding.unusable->loop) {
      std::string name(binding.name);
      WantsLastStep inner{binding.unusable->loop, name};
      if (!kernel->lastSteps.count(inner))
        throw inner;
    }
    bool canBe = !binding.unusable;
    forEachTile(binding.value, [&](const Tile &tile) {
      canBe &= !tile.type.isVoid() && !tile.type.isDescriptor();
    });
    HandedOn one{binding.name, binding.value, binding.where, {}};
    if (!isWanted || !canBe) {
      bool isCounter = target && binding.name == counter;
      one.value = Value();
      one.unusable =
          Unusable{"LoopOnly",
                   isCounter ? "is the variable of a run-time loop that has ended"
                             : "is defined in the body of a run-time loop only",
                   isCounter ? "assign it to another name in the body"
                             : "give it a value before the loop, which may run zero times",
                   isCounter          ? rangeOf(*target)
                   : binding.where    ? rangeOf(*binding.where)
                   : binding.unusable ? binding.unusable->where
                                      : SourceRange{},
                   {},
                   isWanted ? nullptr : &stmt};
    }
    found.push_back(std::move(one));
  }
  return found;
}

void Interp::bindHandedOn(const std::vector<HandedOn> &handedOn, const Stmt &loop,
                          mlir::ValueRange results, const LastStep &lastStep) {
  size_t next = 0;
  for (const HandedOn &one : handedOn) {
    if (one.unusable) {
      frame->locals->poison(one.name, *one.unusable);
      continue;
    }
    Value last =
        mapTiles(one.value, [&](const Tile &tile) { return Tile{results[next++], tile.type}; });
    frame->locals->set(one.name, last, one.where).lastStep =
        std::make_shared<const LastStep>(lastStep);
  }
}

void Interp::checkLastStep(const Binding &binding) {
  mlir::OpBuilder &builder = kernel->builder;
  mlir::Location loc = opContext().loc = location(*frame->node);
  mlir::Value ran = binding.lastStep->first;
  if (binding.lastStep->end)
    ran = builder.create<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::slt, ran,
                                              binding.lastStep->end);
  auto check = builder.create<tile::AssertOp>(
      loc, ran,
      "`" + std::string(binding.name) + "` has no value: the loop that gives it one ran zero times",
      mlir::Value());
  check->setAttr(tile::onlyCheckedAttr, builder.getStringAttr("LoopOnly"));
}

std::vector<Interp::Carried> Interp::carriedBy(const Stmt &stmt,
                                               const std::set<std::string_view> &settled) {
  std::vector<Carried> carried;
  unsigned next = 0;
  std::string_view target;
  if (auto *loop = dynCast<For>(&stmt))
    if (auto *name = dynCast<Name>(loop->target))
      target = name->id;
  for (std::string_view name : bodyFacts(stmt).assigned) {
    const Binding *binding = frame->locals->find(name);
    if (!binding || binding->unusable || name == target)
      continue;
    Value before = binding->value;
    if (settled.count(name)) {
      before = settle(before, "a value that a loop changes");
      frame->locals->set(name, before, binding->where);
      binding = frame->locals->find(name);
    }
    unsigned count = 0;
    forEachTile(before, [&](const Tile &) { ++count; });
    carried.push_back({name, before, {}, binding->where, next, count});
    next += count;
  }
  return carried;
}

namespace {

// How a value fared in the body of a loop, tile by tile.
struct Fate {
  std::vector<mlir::Value> after; ///< what the body yields for each tile
  bool needsSettling = false;     ///< a number changed: it must become a tile before the loop
  std::string mismatch;           ///< set if it can't be carried
};

void follow(Interp &interp, const Value &before, const Value &inside, const Value &after,
            Fate &fate) {
  if (!fate.mismatch.empty() || fate.needsSettling)
    return;
  auto mismatch = [&] {
    fate.mismatch = describeValue(before) + " before it and " + describeValue(after) +
                    " at the end of its body";
  };
  if (before.isTile()) {
    std::optional<Tile> tile;
    if (after.isTile())
      tile = after.asTile();
    else if (after.isNumber())
      tile = interp.building([&] { return ops::toTile(interp.opContext(), after); });
    if (!tile || !(tile->type == before.asTile().type))
      return mismatch();
    fate.after.push_back(tile->value);
    return;
  }
  if (before.isTuple() && after.isTuple() && before.items().size() == after.items().size()) {
    for (size_t i = 0; i < before.items().size(); ++i)
      follow(interp, before.items()[i], inside.items()[i], after.items()[i], fate);
    return;
  }
  if (auto *x = before.as<ops::Aggregate>())
    if (auto *y = after.as<ops::Aggregate>()) {
      if (!x->sameShape(*y))
        return mismatch();
      for (const Tile &tile : y->tiles())
        fate.after.push_back(tile.value);
      return;
    }
  if (identical(before, after) || ops::equal(before, after))
    return;
  if (before.isNumber() && (after.isTile() || after.isNumber())) {
    fate.needsSettling = true;
    return;
  }
  mismatch();
}

} // namespace

bool Interp::yieldCarried(const std::vector<Carried> &carried, const Stmt &loop,
                          std::set<std::string_view> &settled, std::vector<mlir::Value> &into) {
  bool holds = true;
  for (const Carried &one : carried) {
    const Binding *after = frame->locals->find(one.name);
    Fate fate;
    if (!after || after->unusable)
      fate.mismatch = "not usable at the end of its body";
    else
      follow(*this, one.before, one.inside, after->value, fate);
    if (fate.needsSettling) {
      settled.insert(one.name);
      holds = false;
    } else if (!fate.mismatch.empty() && holds) {
      failCarried(one.name, fate.mismatch, one.where, after, loop);
    }
    into.insert(into.end(), fate.after.begin(), fate.after.end());
  }
  return holds;
}

void Interp::execRuntimeFor(const For &stmt, const Value &rangeValue) {
  auto *range = rangeValue.as<ops::RangeValue>();
  auto *target = dynCast<Name>(stmt.target);
  if (!target)
    failAt(*stmt.target, "UnsupportedSyntax", "the variable of a run-time loop must be a name");

  // Bounds: integers, brought to one type. A constant negative step runs the loop upwards and
  // counts down inside.
  Value start = range->start, stop = range->stop, stride = range->step;
  bool countsDown = false;
  if (stride.isBool())
    stride = Value(int64_t(stride.asBool()));
  if (stride.isInt()) {
    if (stride.asInteger().isZero())
      failAt(*stmt.iter, "ZeroStep", "the step of a range can't be 0");
    if (stride.asInteger().isNegative()) {
      countsDown = true;
      stride = Value(-stride.asInteger());
      std::swap(start, stop);
    }
  }
  const char *roles[] = {"start", "end", "step"};
  Tile bounds[3];
  const Value *values[] = {&start, &stop, &stride};
  frame->node = stmt.iter;
  for (int i = 0; i < 3; ++i) {
    if (!values[i]->isNumber() && !values[i]->isTile())
      failAt(*stmt.iter, "RangeBound",
             std::string("the ") + roles[i] + " of a range must be an integer, not `" +
                 values[i]->typeName() + "`");
    bounds[i] = building([&] { return ops::toTile(opContext(), *values[i]); });
    const Type &type = bounds[i].type;
    if (type.isBlock() || type.isPointer() || !type.isInt())
      failAt(*stmt.iter, "RangeBound",
             std::string("the ") + roles[i] + " of a range must be a scalar integer, not `" +
                 type.str() + "`",
             type.isScalarKind() && type.isFloat() ? "convert it with `.to(tl.int32)`" : "");
  }
  Type type = bounds[0].type;
  for (int i = 1; i < 3; ++i) {
    const Type &other = bounds[i].type;
    const Type &wider = other.bits() > type.bits() ? other : type;
    if (type.isSigned() == other.isSigned()) {
      type = wider;
    } else {
      const Type &unsignedType = type.isSigned() ? other : type;
      const Type &signedType = type.isSigned() ? type : other;
      type = unsignedType.bits() >= signedType.bits() ? unsignedType : signedType;
    }
  }
  // scf.for compares as signed; an unsigned range below 64 bits runs in 64.
  Type loopType = type;
  if (!type.isSigned() && type.bits() < 64)
    loopType = ops::int64();
  for (Tile &bound : bounds)
    bound = building(
        [&] { return ops::cast(opContext(), ops::cast(opContext(), bound, type), loopType); });

  std::set<std::string_view> settled;
  for (;;) {
    std::vector<Carried> carried = carriedBy(stmt, settled);
    mlir::OpBuilder &builder = kernel->builder;
    frame->node = &stmt;
    mlir::Location loc = location(stmt);
    size_t notes = kernel->diagnostics.size();

    auto region = std::make_unique<mlir::Region>();
    mlir::Block *block = new mlir::Block;
    region->push_back(block);
    mlir::Value counter = block->addArgument(bounds[0].value.getType(), loc);
    std::vector<mlir::Value> initial;
    for (Carried &one : carried)
      one.inside = mapTiles(one.before, [&](const Tile &tile) {
        initial.push_back(tile.value);
        return Tile{block->addArgument(tile.value.getType(), loc), tile.type};
      });

    std::vector<mlir::Value> yields;
    std::vector<HandedOn> handedOn;
    bool restart = false;
    {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(block);
      Names before = *frame->locals;
      for (const Carried &one : carried)
        frame->locals->set(one.name, one.inside, one.where);
      Tile index{counter, loopType};
      if (countsDown)
        index = building([&] {
          // stop + start - counter, with the two swapped.
          mlir::Value left = builder.create<mlir::arith::SubIOp>(loc, bounds[1].value, counter);
          return Tile{builder.create<mlir::arith::AddIOp>(loc, left, bounds[0].value), loopType};
        });
      index = building([&] { return ops::cast(opContext(), index, type); });
      frame->locals->set(target->id, Value(index), target);
      ++frame->runtimeLoops;
      execKernel(stmt.body, 0, [] {});
      --frame->runtimeLoops;
      frame->node = &stmt;

      restart = !yieldCarried(carried, stmt, settled, yields);
      if (!restart)
        handedOn = handedOnBy(stmt, before);
      *frame->locals = std::move(before);
    }
    if (restart) {
      kernel->diagnostics.resize(notes);
      continue;
    }
    size_t plain = initial.size();
    for (const HandedOn &one : handedOn)
      forEachTile(one.value, [&](const Tile &tile) {
        initial.push_back(building([&] { return ops::zero(opContext(), tile.type); }).value);
        block->addArgument(tile.value.getType(), loc);
        yields.push_back(tile.value);
      });

    // Keep the arguments that the body changes.
    llvm::BitVector dropped(block->getNumArguments());
    llvm::SmallVector<mlir::Value> inits, kept;
    for (size_t i = 0; i < initial.size(); ++i) {
      mlir::BlockArgument argument = block->getArgument(unsigned(i) + 1);
      if (yields[i] == argument) {
        argument.replaceAllUsesWith(initial[i]);
        for (mlir::Value &yield : yields)
          if (yield == argument)
            yield = initial[i];
        dropped.set(unsigned(i) + 1);
      } else {
        inits.push_back(initial[i]);
      }
    }
    for (size_t i = 0; i < initial.size(); ++i)
      if (!dropped[unsigned(i) + 1])
        kept.push_back(yields[i]);
    block->eraseArguments(dropped);
    {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(block);
      builder.create<mlir::scf::YieldOp>(loc, kept);
    }
    auto loop = builder.create<mlir::scf::ForOp>(loc, bounds[0].value, bounds[1].value,
                                                 bounds[2].value, inits);
    loop.getRegion().takeBody(*region);
    setLoopAttributes(loop, *range);

    size_t result = 0, argument = 0;
    for (const Carried &one : carried) {
      Value after = mapTiles(one.before, [&](const Tile &tile) {
        return dropped[unsigned(argument++) + 1] ? tile : Tile{loop.getResult(result++), tile.type};
      });
      if (!identical(after, one.before))
        frame->locals->set(one.name, after, one.where);
    }
    bindHandedOn(handedOn, stmt, loop.getResults().take_back(initial.size() - plain),
                 {bounds[0].value, bounds[1].value});
    return;
  }
}

void Interp::setLoopAttributes(mlir::Operation *loop, const ops::RangeValue &range) {
  mlir::OpBuilder &builder = kernel->builder;
  auto number = [&](llvm::StringRef name, const Value &value) {
    if (!value.isNone())
      loop->setAttr(name, builder.getI32IntegerAttr(
                              int32_t(asInt(value, std::string("`") + name.str() + "`"))));
  };
  number(tile::numStagesAttr, range.numStages);
  number("tile.unroll", range.loopUnrollFactor);
  auto flag = [&](llvm::StringRef name, bool set) {
    if (set)
      loop->setAttr(name, builder.getUnitAttr());
  };
  flag("tile.disallow_acc_multi_buffer", range.disallowAccMultiBuffer);
  flag("tile.flatten", range.flatten);
  flag("tile.warp_specialize", range.warpSpecialize);
  flag("tile.disable_licm", range.disableLicm);
}

void Interp::failCarried(std::string_view name, const std::string &mismatch, const Node *first,
                         const Binding *after, const Stmt &loop) {
  const Node *place = after && after->where ? after->where : &loop;
  EvalError failure =
      error(*place, "LoopCarriedMismatch",
            "`" + std::string(name) + "` changes its type in a run-time loop: it is " + mismatch,
            "start it with the type that the body gives it, or convert it at the end of the body");
  if (first)
    failure.diagnostic.labels.push_back({rangeOf(*first), "before the loop"});
  throw failure;
}

void Interp::execRuntimeWhile(const While &stmt) {
  std::set<std::string_view> settled;
  for (;;) {
    std::vector<Carried> carried = carriedBy(stmt, settled);
    mlir::OpBuilder &builder = kernel->builder;
    frame->node = &stmt;
    mlir::Location loc = location(stmt);
    size_t notes = kernel->diagnostics.size();
    bool disableLicm = false, restart = false, isConstant = false;
    Names before = *frame->locals;

    // The condition sees the values of this round, and hands on what it makes of them.
    auto beforeRegion = std::make_unique<mlir::Region>();
    mlir::Block *beforeBlock = new mlir::Block;
    beforeRegion->push_back(beforeBlock);
    std::vector<mlir::Value> initial;
    for (Carried &one : carried)
      one.inside = mapTiles(one.before, [&](const Tile &tile) {
        initial.push_back(tile.value);
        return Tile{beforeBlock->addArgument(tile.value.getType(), loc), tile.type};
      });
    mlir::Value condition;
    std::vector<mlir::Value> passed;
    {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(beforeBlock);
      for (const Carried &one : carried)
        frame->locals->set(one.name, one.inside, one.where);
      Value test = unboxed(eval(stmt.test));
      if (auto *wrapped = test.as<ops::ConditionValue>()) {
        disableLicm = wrapped->disableLicm;
        test = Value(wrapped->condition); // a copy first: `test` holds the object
      }
      frame->node = &stmt;
      if (!test.isTile()) {
        if (!truth(test)) {
          // Never entered.
          *frame->locals = std::move(before);
          return execKernel(stmt.orelse, 0, [] {});
        }
        condition = building([&] { return ops::toTile(opContext(), Value(true)).value; });
      } else {
        condition = building([&] { return ops::toCondition(opContext(), test); });
      }
      restart = !yieldCarried(carried, stmt, settled, passed);
      // Known to be true now; if the body changes a number in it, the loop is built anew.
      isConstant = !test.isTile();
    }

    auto afterRegion = std::make_unique<mlir::Region>();
    mlir::Block *afterBlock = new mlir::Block;
    afterRegion->push_back(afterBlock);
    std::vector<mlir::Value> yields;
    std::vector<HandedOn> handedOn;
    std::vector<Tile> last;
    if (!restart) {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(afterBlock);
      for (Carried &one : carried) {
        const Binding *now = frame->locals->find(one.name);
        one.inside = mapTiles(one.before, [&](const Tile &tile) {
          return Tile{afterBlock->addArgument(tile.value.getType(), loc), tile.type};
        });
        frame->locals->set(one.name, one.inside, now ? now->where : one.where);
      }
      ++frame->runtimeLoops;
      execKernel(stmt.body, 0, [] {});
      --frame->runtimeLoops;
      frame->node = &stmt;
      restart = !yieldCarried(carried, stmt, settled, yields);
      if (isConstant && !restart)
        failAt(*stmt.test, "EndlessLoop", "the condition of this `while` never changes",
               "make it depend on a run-time value that the body changes");
      if (!restart)
        handedOn = handedOnBy(stmt, before);
      for (const HandedOn &one : handedOn)
        forEachTile(one.value, [&](const Tile &tile) { last.push_back(tile); });
      if (std::any_of(handedOn.begin(), handedOn.end(),
                      [](const HandedOn &one) { return !one.unusable; }))
        last.push_back(building([&] { return ops::toTile(opContext(), Value(true)); })); // it ran
    }
    *frame->locals = std::move(before);
    if (restart) {
      kernel->diagnostics.resize(notes);
      continue;
    }
    for (const Tile &tile : last) {
      initial.push_back(building([&] { return ops::zero(opContext(), tile.type); }).value);
      passed.push_back(beforeBlock->addArgument(tile.value.getType(), loc));
      afterBlock->addArgument(tile.value.getType(), loc);
      yields.push_back(tile.value);
    }

    // Drop what neither the condition nor the body changes.
    llvm::BitVector dropped(beforeBlock->getNumArguments());
    for (unsigned i = 0; i < initial.size(); ++i)
      if (passed[i] == beforeBlock->getArgument(i) && yields[i] == afterBlock->getArgument(i))
        dropped.set(i);
    for (unsigned i : dropped.set_bits()) {
      mlir::BlockArgument first = beforeBlock->getArgument(i), second = afterBlock->getArgument(i);
      first.replaceAllUsesWith(initial[i]);
      second.replaceAllUsesWith(initial[i]);
      for (std::vector<mlir::Value> *list : {&passed, &yields})
        for (mlir::Value &value : *list)
          if (value == first || value == second)
            value = initial[i];
    }
    llvm::SmallVector<mlir::Value> inits, handed, yielded;
    llvm::SmallVector<mlir::Type> types;
    for (unsigned i = 0; i < initial.size(); ++i)
      if (!dropped[i]) {
        inits.push_back(initial[i]);
        handed.push_back(passed[i]);
        yielded.push_back(yields[i]);
        types.push_back(initial[i].getType());
      }
    beforeBlock->eraseArguments(dropped);
    afterBlock->eraseArguments(dropped);
    {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(beforeBlock);
      builder.create<mlir::scf::ConditionOp>(loc, condition, handed);
      builder.setInsertionPointToEnd(afterBlock);
      builder.create<mlir::scf::YieldOp>(loc, yielded);
    }
    auto loop = builder.create<mlir::scf::WhileOp>(loc, types, inits);
    loop.getBefore().takeBody(*beforeRegion);
    loop.getAfter().takeBody(*afterRegion);
    if (disableLicm)
      loop->setAttr("tile.disable_licm", builder.getUnitAttr());

    size_t result = 0, argument = 0;
    for (const Carried &one : carried) {
      Value after = mapTiles(one.before, [&](const Tile &tile) {
        return dropped[unsigned(argument++)] ? tile : Tile{loop.getResult(result++), tile.type};
      });
      if (!identical(after, one.before))
        frame->locals->set(one.name, after, one.where);
    }
    auto results = loop.getResults().take_back(last.size());
    bindHandedOn(handedOn, stmt, results, {last.empty() ? mlir::Value() : results.back(), {}});
    return execKernel(stmt.orelse, 0, [] {});
  }
}

} // namespace nereid::emit
