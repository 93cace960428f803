// Run-time loops: `for` and `while` whose course is not known while compiling.
//
// Which names a loop carries is not known before its body is built. Each tile of a name that the
// body assigns *somewhere* starts as an argument of the body; those that come out unchanged are
// dropped again. A number that the body changes is made a tile, and the body is built once more.
//
// What only the body defines is not carried, until code behind the loop reads it or a loop around
// it carries the name: then the kernel is built once more, and that loop hands on what its last
// step gave the name. After no step that is zero, or what a loop's variable was before.

#include "emit/Interp.h"

#include "ir/LoopHints.h"
#include "ir/OnlyChecked.h"
#include "ops/Build.h"
#include "ops/Objects.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/BitVector.h"

#include <algorithm>

namespace nereid::emit {

using namespace syntax;

/// A name that a loop's body assigns somewhere, and that has a value before the loop.
struct Interp::Carried {
  std::string_view name;
  Value before; ///< the value on entry
  Value inside; ///< the same around the arguments of the body
  const Node *where;
  unsigned arguments;
};

/// A name that a loop's body defines and code behind the loop reads.
struct Interp::HandedOn {
  std::string_view name;
  Value value; ///< at the end of the body
  const Node *where;
  std::optional<Unusable> unusable; ///< why it can't be read behind the loop
  Value before;                     ///< what the loop's variable was, if it can be so after no step
};

namespace {

// Whether a loop's variable of this type can hold what the name was before the loop.
bool canBecome(const Value &before, const Type &type) {
  if (before.isTile())
    return before.asTile().type == type;
  if (!before.isNumber())
    return false;
  Type literal = ops::literalType(before);
  return literal.isInt() && literal.bits() <= type.bits();
}

} // namespace

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
    HandedOn one{binding.name, binding.value, binding.where, {}, {}};
    if (known && !known->unusable && binding.value.isTile() &&
        canBecome(known->value, binding.value.asTile().type))
      one.before = known->value;
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
    Binding &bound = frame->locals->set(one.name, last, one.where);
    if (one.before.isNone())
      bound.lastStep = std::make_shared<const LastStep>(lastStep);
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
    carried.push_back({name, before, {}, binding->where, count});
  }
  return carried;
}

std::vector<mlir::Value> Interp::enterBody(std::vector<Carried> &carried, mlir::Block &block,
                                           mlir::Location loc) {
  std::vector<mlir::Value> initial;
  for (Carried &one : carried)
    one.inside = mapTiles(one.before, [&](const Tile &tile) {
      initial.push_back(tile.value);
      return Tile{block.addArgument(tile.value.getType(), loc), tile.type};
    });
  return initial;
}

namespace {

// How a value fared in the body of a loop, tile by tile.
struct Fate {
  std::vector<mlir::Value> after; ///< what the body yields for each tile
  bool needsSettling = false;     ///< a number changed: it must become a tile before the loop
  std::string mismatch;           ///< set if it can't be carried
  std::string hint;
};

// How to begin with what the body makes.
std::string hintFor(const Value &before, const Value &after) {
  if (before.isTile() && after.isTile()) {
    const Type &was = before.asTile().type, &is = after.asTile().type;
    auto named = [](const Type &type) { return "tl." + std::string(info(type.dtype()).name); };
    if (is.isBlock() && is.isScalarKind()) {
      std::string shape;
      for (int64_t size : is.shape())
        shape += (shape.empty() ? "" : ", ") + std::to_string(size);
      std::string hint = "start it as a tile of that type, as `tl.zeros([" + shape + "], " +
                         named(is.element()) + ")`";
      if (was.isBlock() && was.isScalarKind() && was.shape() == is.shape())
        hint += ", or end the body with `.to(" + named(was.element()) + ")`";
      return hint;
    }
    if (!was.isBlock() && was.isScalarKind() && is.isScalarKind() && is.isFloat() && !was.isFloat())
      return "start it with a float, `0.0` and not `0`";
  }
  return "start it with the type that the body gives it, or convert it at the end of the body";
}

void follow(Interp &interp, const Value &before, const Value &inside, const Value &after,
            Fate &fate) {
  if (!fate.mismatch.empty() || fate.needsSettling)
    return;
  auto mismatch = [&] {
    fate.mismatch = describeValue(before) + " before it and " + describeValue(after) +
                    " at the end of its body";
    fate.hint = hintFor(before, after);
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
    if (after && after->unusable && after->unusable->loop)
      throw WantsLastStep{after->unusable->loop, std::string(one.name)};
    if (!after || after->unusable)
      fate = {.mismatch = "not usable at the end of its body",
              .hint = "give it a value on each path through the body"};
    else
      follow(*this, one.before, one.inside, after->value, fate);
    if (fate.needsSettling) {
      settled.insert(one.name);
      holds = false;
    } else if (!fate.mismatch.empty() && holds) {
      failCarried(one.name, fate.mismatch, fate.hint, one.where, after, loop);
    }
    into.insert(into.end(), fate.after.begin(), fate.after.end());
  }
  return holds;
}

/// The bounds of a loop. A constant negative step runs the loop upwards and counts down inside.
struct Interp::LoopBounds {
  Tile start, stop, step; ///< of `loopType`; the first two are swapped if it counts down
  Type type;              ///< of the loop's variable
  Type loopType;          ///< scf.for compares as signed: unsigned below 64 bits runs in 64
  bool countsDown = false;
};

Interp::LoopBounds Interp::loopBounds(const For &stmt, const ops::RangeValue &range) {
  LoopBounds bounds;
  Value start = range.start, stop = range.stop, step = range.step;
  if (step.isBool())
    step = Value(int64_t(step.asBool()));
  if (step.isInt()) {
    if (step.asInteger().isZero())
      failAt(*stmt.iter, "ZeroStep", "the step of a range can't be 0");
    if (step.asInteger().isNegative()) {
      bounds.countsDown = true;
      step = Value(-step.asInteger());
      std::swap(start, stop);
    }
  }
  frame->node = stmt.iter;
  auto integer = [&](const Value &value, const char *role) {
    if (!value.isNumber() && !value.isTile())
      failAt(*stmt.iter, "RangeBound",
             std::string("the ") + role + " of a range must be an integer, not `" +
                 value.typeName() + "`");
    Tile bound = building([&] { return ops::toTile(opContext(), value); });
    const Type &type = bound.type;
    if (type.isBlock() || type.isPointer() || !type.isInt())
      failAt(*stmt.iter, "RangeBound",
             std::string("the ") + role + " of a range must be a scalar integer, not `" +
                 type.str() + "`",
             type.isScalarKind() && type.isFloat() ? "convert it with `.to(tl.int32)`" : "");
    return bound;
  };
  bounds.start = integer(start, bounds.countsDown ? "end" : "start");
  bounds.stop = integer(stop, bounds.countsDown ? "start" : "end");
  bounds.step = integer(step, "step");

  // One type for all: the wider, or where the signs differ and widths agree, the unsigned.
  Type type = bounds.start.type;
  for (const Type &other : {bounds.stop.type, bounds.step.type}) {
    if (type.isSigned() == other.isSigned()) {
      type = other.bits() > type.bits() ? other : type;
    } else {
      const Type &unsignedType = type.isSigned() ? other : type;
      const Type &signedType = type.isSigned() ? type : other;
      type = unsignedType.bits() >= signedType.bits() ? unsignedType : signedType;
    }
  }
  bounds.type = bounds.loopType = type;
  if (!type.isSigned() && type.bits() < 64)
    bounds.loopType = ops::int64();
  for (Tile *bound : {&bounds.start, &bounds.stop, &bounds.step})
    *bound = building([&] {
      return ops::cast(opContext(), ops::cast(opContext(), *bound, type), bounds.loopType);
    });
  return bounds;
}

Tile Interp::loopVariable(const LoopBounds &bounds, mlir::Value counter) {
  return building([&] {
    ops::OpContext &context = opContext();
    Tile index{counter, bounds.loopType};
    if (bounds.countsDown) {
      // stop + start - counter, with the two swapped.
      mlir::Value left =
          context.builder.create<mlir::arith::SubIOp>(context.loc, bounds.stop.value, counter);
      index.value =
          context.builder.create<mlir::arith::AddIOp>(context.loc, left, bounds.start.value);
    }
    return ops::cast(context, index, bounds.type);
  });
}

void Interp::bindCarried(const std::vector<Carried> &carried, const llvm::BitVector &unchanged,
                         mlir::ValueRange results) {
  size_t result = 0;
  unsigned tile = 0;
  for (const Carried &one : carried) {
    Value after = mapTiles(one.before, [&](const Tile &before) {
      return unchanged[tile++] ? before : Tile{results[result++], before.type};
    });
    if (!identical(after, one.before))
      frame->locals->set(one.name, after, one.where);
  }
}

void Interp::execRuntimeFor(const For &stmt, const Value &rangeValue) {
  auto *range = rangeValue.as<ops::RangeValue>();
  auto *target = dynCast<Name>(stmt.target);
  if (!target)
    failAt(*stmt.target, "UnsupportedSyntax", "the variable of a run-time loop must be a name");
  const LoopBounds bounds = loopBounds(stmt, *range);

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
    mlir::Value counter = block->addArgument(bounds.start.value.getType(), loc);
    std::vector<mlir::Value> initial = enterBody(carried, *block, loc);

    std::vector<mlir::Value> yields;
    std::vector<HandedOn> handedOn;
    bool restart = false;
    {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(block);
      Names before = *frame->locals;
      for (const Carried &one : carried)
        frame->locals->set(one.name, one.inside, one.where);
      frame->locals->set(target->id, Value(loopVariable(bounds, counter)), target);
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
        initial.push_back(building([&] {
                            if (one.before.isNone())
                              return ops::zero(opContext(), tile.type);
                            Tile before = ops::toTile(opContext(), one.before);
                            return ops::cast(opContext(), before, tile.type);
                          }).value);
        block->addArgument(tile.value.getType(), loc);
        yields.push_back(tile.value);
      });

    // Keep the arguments that the body changes.
    llvm::BitVector unchanged(initial.size());
    llvm::SmallVector<mlir::Value> inits, kept;
    for (unsigned i = 0; i < initial.size(); ++i) {
      mlir::BlockArgument argument = block->getArgument(i + 1); // behind the counter
      if (yields[i] == argument) {
        argument.replaceAllUsesWith(initial[i]);
        std::replace(yields.begin(), yields.end(), mlir::Value(argument), initial[i]);
        unchanged.set(i);
      } else {
        inits.push_back(initial[i]);
      }
    }
    for (unsigned i = 0; i < initial.size(); ++i)
      if (!unchanged[i])
        kept.push_back(yields[i]);
    block->eraseArguments([&](mlir::BlockArgument argument) {
      unsigned number = argument.getArgNumber();
      return number > 0 && unchanged[number - 1];
    });
    {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(block);
      builder.create<mlir::scf::YieldOp>(loc, kept);
    }
    auto loop = builder.create<mlir::scf::ForOp>(loc, bounds.start.value, bounds.stop.value,
                                                 bounds.step.value, inits);
    loop.getRegion().takeBody(*region);
    setLoopAttributes(loop, *range);

    bindCarried(carried, unchanged, loop.getResults());
    bindHandedOn(handedOn, stmt, loop.getResults().take_back(initial.size() - plain),
                 {bounds.start.value, bounds.stop.value});
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
  number(tile::unrollAttr, range.loopUnrollFactor);
  auto flag = [&](llvm::StringRef name, bool set) {
    if (set)
      loop->setAttr(name, builder.getUnitAttr());
  };
  flag(tile::disallowAccMultiBufferAttr, range.disallowAccMultiBuffer);
  flag(tile::flattenAttr, range.flatten);
  flag(tile::warpSpecializeAttr, range.warpSpecialize);
  flag(tile::disableLicmAttr, range.disableLicm);
}

void Interp::failCarried(std::string_view name, const std::string &mismatch,
                         const std::string &hint, const Node *first, const Binding *after,
                         const Stmt &loop) {
  const Node *place = after && after->where ? after->where : &loop;
  EvalError failure = error(
      *place, "LoopCarriedMismatch",
      "`" + std::string(name) + "` changes its type in a run-time loop: it is " + mismatch, hint);
  if (first)
    failure.diagnostic.labels.push_back({rangeOf(*first), "before the loop"});
  throw failure;
}

namespace {
// A `while` in the making: the condition's region, then the body's.
struct WhileParts {
  std::unique_ptr<mlir::Region> before = std::make_unique<mlir::Region>(),
                                after = std::make_unique<mlir::Region>();
  mlir::Block *beforeBlock = &before->emplaceBlock(), *afterBlock = &after->emplaceBlock();
  mlir::Value condition;
  std::vector<mlir::Value> initial, passed, yields;

  // A value that the body gives to the statements behind the loop; at first it is nothing.
  void handOn(const Tile &tile, mlir::Value nothing, mlir::Location loc) {
    initial.push_back(nothing);
    passed.push_back(beforeBlock->addArgument(tile.value.getType(), loc));
    afterBlock->addArgument(tile.value.getType(), loc);
    yields.push_back(tile.value);
  }

  // Drops what neither the condition nor the body changes; says which.
  llvm::BitVector dropUnchanged() {
    llvm::BitVector unchanged(beforeBlock->getNumArguments());
    for (unsigned i = 0; i < initial.size(); ++i)
      if (passed[i] == beforeBlock->getArgument(i) && yields[i] == afterBlock->getArgument(i))
        unchanged.set(i);
    for (unsigned i : unchanged.set_bits()) {
      mlir::BlockArgument first = beforeBlock->getArgument(i), second = afterBlock->getArgument(i);
      first.replaceAllUsesWith(initial[i]);
      second.replaceAllUsesWith(initial[i]);
      for (std::vector<mlir::Value> *list : {&passed, &yields})
        for (mlir::Value &value : *list)
          if (value == first || value == second)
            value = initial[i];
    }
    for (std::vector<mlir::Value> *list : {&initial, &passed, &yields}) {
      size_t i = 0;
      std::erase_if(*list, [&](mlir::Value) { return unchanged[unsigned(i++)]; });
    }
    beforeBlock->eraseArguments(unchanged);
    afterBlock->eraseArguments(unchanged);
    return unchanged;
  }

  mlir::scf::WhileOp create(mlir::OpBuilder &builder, mlir::Location loc) {
    {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(beforeBlock);
      builder.create<mlir::scf::ConditionOp>(loc, condition, passed);
      builder.setInsertionPointToEnd(afterBlock);
      builder.create<mlir::scf::YieldOp>(loc, yields);
    }
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Value value : initial)
      types.push_back(value.getType());
    auto loop = builder.create<mlir::scf::WhileOp>(loc, types, initial);
    loop.getBefore().takeBody(*before);
    loop.getAfter().takeBody(*after);
    return loop;
  }
};
} // namespace

mlir::Value Interp::whileCondition(const While &stmt, bool &isConstant, bool &disableLicm) {
  Value test = unboxed(eval(stmt.test));
  if (auto *wrapped = test.as<ops::ConditionValue>()) {
    disableLicm = wrapped->disableLicm;
    test = Value(wrapped->condition); // a copy first: `test` holds the object
  }
  frame->node = &stmt;
  isConstant = !test.isTile();
  if (!isConstant)
    return building([&] { return ops::toCondition(opContext(), test); });
  if (!truth(test))
    return {};
  return building([&] { return ops::toTile(opContext(), Value(true)).value; });
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
    WhileParts parts;

    // The condition sees the values of this round, and hands on what it makes of them.
    parts.initial = enterBody(carried, *parts.beforeBlock, loc);
    {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(parts.beforeBlock);
      for (const Carried &one : carried)
        frame->locals->set(one.name, one.inside, one.where);
      // What is known to be true now may change in the body: then the loop is built anew.
      parts.condition = whileCondition(stmt, isConstant, disableLicm);
      if (!parts.condition) {
        // Never entered.
        *frame->locals = std::move(before);
        return execKernel(stmt.orelse, 0, [] {});
      }
      restart = !yieldCarried(carried, stmt, settled, parts.passed);
    }

    std::vector<HandedOn> handedOn;
    std::vector<Tile> last;
    if (!restart) {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(parts.afterBlock);
      for (Carried &one : carried) {
        const Binding *now = frame->locals->find(one.name);
        one.inside = mapTiles(one.before, [&](const Tile &tile) {
          return Tile{parts.afterBlock->addArgument(tile.value.getType(), loc), tile.type};
        });
        frame->locals->set(one.name, one.inside, now ? now->where : one.where);
      }
      ++frame->runtimeLoops;
      execKernel(stmt.body, 0, [] {});
      --frame->runtimeLoops;
      frame->node = &stmt;
      restart = !yieldCarried(carried, stmt, settled, parts.yields);
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
    for (const Tile &tile : last)
      parts.handOn(tile, building([&] { return ops::zero(opContext(), tile.type); }).value, loc);

    llvm::BitVector unchanged = parts.dropUnchanged();
    mlir::scf::WhileOp loop = parts.create(builder, loc);
    if (disableLicm)
      loop->setAttr(tile::disableLicmAttr, builder.getUnitAttr());

    bindCarried(carried, unchanged, loop.getResults());
    auto results = loop.getResults().take_back(last.size());
    bindHandedOn(handedOn, stmt, results, {last.empty() ? mlir::Value() : results.back(), {}});
    return execKernel(stmt.orelse, 0, [] {});
  }
}

} // namespace nereid::emit
