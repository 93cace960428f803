// Prints, assertions, promises and what asks the machine.
#include "ir/OnlyChecked.h"
#include "ref/Check.h"
#include "ref/Machine.h"
#include "ref/Models.h"

using namespace mlir;

namespace nereid::ref {
namespace {

/// An element as `device_print` writes it.
std::string printElement(Frame &frame, const Slot &slot, bool isPointer, uint32_t i, bool hex,
                         bool isSigned) {
  char text[400]; // the greatest f64 has 309 digits
  if (isFloat(slot.storage)) {
    double value = dispatchFloat<true>(
        slot.storage, [&]<typename T>() { return double(widen(frame.data<T>(slot)[i])); });
    snprintf(text, sizeof text, hex ? "%a" : "%f", value);
    return text;
  }
  return dispatchInt(slot.storage, [&]<typename I>() -> std::string {
    auto value = frame.data<typename I::Unsigned>(slot)[i];
    if (hex || isPointer)
      snprintf(text, sizeof text, "0x%0*llx", isPointer ? 1 : int(2 * widthOf(slot.storage)),
               (unsigned long long)I::zext(value));
    else if (isSigned)
      snprintf(text, sizeof text, "%lld", (long long)I::sext(value));
    else
      snprintf(text, sizeof text, "%llu", (unsigned long long)I::zext(value));
    return text;
  });
}

Step decodePrint(tile::PrintOp op, Decoder &d) {
  struct Operand {
    Slot slot;
    bool isPointer, isSigned;
    std::vector<int64_t> shape;
  };
  std::vector<Operand> operands;
  for (auto [i, value] : llvm::enumerate(op.getValues())) {
    bool isSigned = i >= op.getIsSigned().size() || op.getIsSigned()[i];
    operands.push_back({d.slot(value), isa<tile::PtrType>(tile::elementType(value.getType())),
                        isSigned, std::vector<int64_t>(tile::shapeOf(value.getType()))});
  }
  return [=, prefix = op.getPrefix().str(), hex = op.getHex()](Frame &frame) {
    const auto &print = frame.machine.launch.onPrint;
    if (!print)
      return;
    std::string pid = "pid (" + std::to_string(frame.id[0]) + ", " + std::to_string(frame.id[1]) +
                      ", " + std::to_string(frame.id[2]) + ")";
    if (operands.empty())
      print({frame.id, {}, 0, pid + prefix});
    for (auto [number, operand] : llvm::enumerate(operands))
      for (uint32_t i = 0; i < operand.slot.count; ++i) {
        Printed printed{frame.id, indexOf(i, operand.shape), unsigned(number), pid};
        printed.text += " idx (";
        for (size_t d = 0; d < operand.shape.size(); ++d) {
          std::string at = std::to_string(printed.index[d]);
          size_t width = std::to_string(operand.shape[d] - 1).size();
          printed.text += (d ? ", " : "") + std::string(width - at.size(), ' ') + at;
        }
        printed.text += ")" + prefix;
        if (operands.size() > 1)
          printed.text += "(operand " + std::to_string(number) + ") ";
        printed.text +=
            printElement(frame, operand.slot, operand.isPointer, i, hex, operand.isSigned);
        print(printed);
      }
  };
}

Step decodeAssert(tile::AssertOp op, Decoder &d) {
  Slot condition = d.slot(op.getCondition());
  bool masked = bool(op.getMask());
  Slot mask = masked ? d.slot(op.getMask()) : Slot();
  std::vector<int64_t> shape(tile::shapeOf(op.getCondition().getType()));
  std::string code = "AssertFailed", message = "device assertion failed";
  if (auto undefined = op->getAttrOfType<StringAttr>(tile::onlyCheckedAttr)) {
    code = undefined.str();
    message = op.getMessage().str();
  } else if (!op.getMessage().empty()) {
    message += ": " + op.getMessage().str();
  }
  return [=](Frame &frame) {
    const auto *holds = frame.data<uint8_t>(condition);
    const auto *active = masked ? frame.data<uint8_t>(mask) : nullptr;
    for (uint32_t i = 0; i < condition.count; ++i) {
      if (holds[i] || (active && !active[i]))
        continue;
      Finding found = frame.machine.finding(frame, Severity::Error, code, message);
      found.index = indexOf(i, shape);
      frame.machine.assertionFailed(frame, std::move(found));
    }
  };
}

Step decodeHint(tile::HintOp op, Decoder &d) {
  Slot in = d.slot(op.getSource());
  d.alias(op.getResult(), op.getSource());
  if (!d.options().check)
    return {};
  HintFacts facts;
  facts.shape.assign(tile::shapeOf(op.getType()).begin(), tile::shapeOf(op.getType()).end());
  auto take = [](std::optional<ArrayRef<int64_t>> list) {
    return list ? std::vector<int64_t>(*list) : std::vector<int64_t>();
  };
  facts.divisibility = take(op.getDivisibility());
  facts.contiguity = take(op.getContiguity());
  facts.constancy = take(op.getConstancy());
  if (auto pointer = dyn_cast<tile::PtrType>(tile::elementType(op.getType())))
    facts.unit = tile::bytesInMemory(pointer.getPointee());
  if (isFloat(in.storage))
    return {};
  return dispatchInt(in.storage, [&]<typename I>() -> Step {
    return [=](Frame &frame) {
      std::vector<int64_t> values(in.count);
      for (uint32_t i = 0; i < in.count; ++i)
        values[i] = I::sext(frame.data<typename I::Unsigned>(in)[i]);
      frame.machine.checker->hint(frame, facts, values);
    };
  });
}

Step decodeAssume(tile::AssumeOp op, Decoder &d) {
  if (!d.options().check)
    return {};
  return [condition = d.slot(op.getCondition())](Frame &frame) {
    if (!frame.scalar<uint8_t>(condition))
      frame.machine.report(
          frame, frame.machine.finding(frame, Severity::Error, "FalseHint",
                                       "what `tl.assume` promises does not hold",
                                       "compiled code may rely on it and go wrong in any way"));
  };
}

Step decodeBarrier(tile::BarrierOp op, Decoder &d) {
  if (!d.options().check)
    return {};
  return [](Frame &frame) { frame.machine.checker->barrier(frame); };
}

Step decodeClock(tile::ClockOp op, Decoder &d) {
  // Time passes by operations, so that runs repeat.
  return [out = d.define(op)](Frame &frame) {
    *frame.data<uint64_t>(out) = frame.machine.statistics.operations;
  };
}
Step decodeSmId(tile::SmIdOp op, Decoder &d) {
  return [out = d.define(op)](Frame &frame) { *frame.data<uint32_t>(out) = 0; };
}
Step decodeGridDependency(tile::GridDependencyOp op, Decoder &d) { return {}; }

} // namespace

void attachDebugModels(MLIRContext *c) {
  using namespace tile;
  attach<PrintOp, decodePrint>(c);
  attach<AssertOp, decodeAssert>(c);
  attach<HintOp, decodeHint>(c);
  attach<AssumeOp, decodeAssume>(c);
  attach<BarrierOp, decodeBarrier>(c);
  attach<ClockOp, decodeClock>(c);
  attach<SmIdOp, decodeSmId>(c);
  attach<GridDependencyOp, decodeGridDependency>(c);
}

} // namespace nereid::ref
