#include "pipeline/BackEnd.h"

#include "support/LaunchAbi.h"
#include "support/Steps.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <memory>
#include <vector>

using namespace mlir;

namespace nereid::pipeline {

namespace {

// The innermost place of a location, and the place of the call that inlined it.
struct Place {
  FileLineColLoc at;
  std::optional<Location> caller;
  std::string function;
};

std::optional<Place> placeOf(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return Place{file, std::nullopt, ""};
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    auto inner = placeOf(call.getCallee());
    if (inner && !inner->caller)
      inner->caller = call.getCaller();
    return inner;
  }
  if (auto name = dyn_cast<NameLoc>(location)) {
    auto inner = placeOf(name.getChildLoc());
    if (inner && inner->function.empty())
      inner->function = name.getName().str();
    return inner;
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (auto inner = placeOf(part))
        return inner;
  return std::nullopt;
}

SourceRange rangeOf(const Place &place) {
  // MLIR counts columns from 1, we from 0.
  uint32_t column = place.at.getColumn() ? place.at.getColumn() - 1 : 0;
  SourcePos at{place.at.getLine(), column};
  return {place.at.getFilename().str(), at, at};
}

DType dtypeOf(Type type, bool isSigned) {
  if (isa<tile::PtrType>(type))
    return DType::UInt64;
  if (auto integer = dyn_cast<IntegerType>(type))
    switch (integer.getWidth()) {
    case 1:
      return DType::Int1;
    case 8:
      return isSigned ? DType::Int8 : DType::UInt8;
    case 16:
      return isSigned ? DType::Int16 : DType::UInt16;
    case 32:
      return isSigned ? DType::Int32 : DType::UInt32;
    default:
      return isSigned ? DType::Int64 : DType::UInt64;
    }
  return type.isF16()    ? DType::Float16
         : type.isBF16() ? DType::BFloat16
         : type.isF64()  ? DType::Float64
                         : DType::Float32;
}

} // namespace

namespace {
class PassSteps final : public PassInstrumentation {
public:
  void runBeforePass(Pass *pass, Operation *) override {
    StringRef name = pass->getArgument();
    if (name.empty())
      name = pass->getName().rsplit("::").second;
    running.push_back(std::make_unique<support::Step>(name.empty() ? pass->getName() : name));
  }
  void runAfterPass(Pass *, Operation *) override { running.pop_back(); }
  void runAfterPassFailed(Pass *pass, Operation *op) override { runAfterPass(pass, op); }

private:
  std::vector<std::unique_ptr<support::Step>> running;
};
} // namespace

void addSteps(PassManager &passes) {
  if (support::StepListener::isListening())
    passes.addInstrumentation(std::make_unique<PassSteps>());
}

DiagnosticCollector::DiagnosticCollector(MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &from) {
        auto convert = [](mlir::Diagnostic &from) {
          nereid::Diagnostic to;
          to.severity = from.getSeverity() == DiagnosticSeverity::Error     ? Severity::Error
                        : from.getSeverity() == DiagnosticSeverity::Warning ? Severity::Warning
                                                                            : Severity::Note;
          to.message = from.str();
          if (auto place = placeOf(from.getLocation()))
            to.where = rangeOf(*place);
          return to;
        };
        nereid::Diagnostic to = convert(from);
        for (mlir::Diagnostic &note : from.getNotes())
          to.notes.push_back(convert(note));
        diagnostics.push_back(std::move(to));
        return success();
      }) {}

Error DiagnosticCollector::error(std::string what) {
  return Error{std::move(what), std::move(diagnostics)};
}

SourceRange sourceRange(Location location) {
  auto place = placeOf(location);
  return place ? rangeOf(*place) : SourceRange();
}

uint32_t addLocation(support::ArtifactBuilder &builder, Location location) {
  auto place = placeOf(location);
  if (!place)
    return support::none;
  uint32_t caller = place->caller ? addLocation(builder, *place->caller) : support::none;
  SourceRange range = rangeOf(*place);
  return builder.addLocation(range.file, place->function, range.begin.line, range.begin.column,
                             caller);
}

void addKernel(support::ArtifactBuilder &builder, FunctionOpInterface kernel,
               const analysis::KernelFacts &facts) {
  if (!builder.kernel.name.size)
    builder.kernel.name = builder.text(kernel.getName().str());
  if (builder.kernel.location == support::none)
    builder.kernel.location = addLocation(builder, kernel.getLoc());
  builder.kernel.gridRank = facts.gridRank;
  if (!builder.slots.empty())
    return;
  for (const analysis::ArgumentSlot &slot : facts.slots) {
    // The front end lists all parameters, also those that were compiled in.
    uint32_t parameter = 0;
    while (parameter < builder.parameters.size() &&
           builder.parameters[parameter].firstSlot != builder.slots.size())
      ++parameter;
    if (parameter == builder.parameters.size())
      builder.parameters.push_back({builder.text(slot.name),
                                    {},
                                    uint32_t(support::ParameterKind::Slots),
                                    uint32_t(builder.slots.size()),
                                    1});
    uint32_t index =
        builder.addSlot(slot.name, slot.kind, slot.type, parameter, slot.width, slot.alignment);
    if (auto type = dyn_cast<tile::DescType>(kernel.getArguments()[index].getType())) {
      // Plain fields; a back end that moves blocks with TMA turns the slot into a tensor map.
      support::DescriptorRecord record;
      record.rank = uint32_t(type.getBlockShape().size());
      for (uint32_t d = 0; d < record.rank && d < support::maxRank; ++d) {
        record.block[d] = record.box[d] = uint32_t(type.getBlockShape()[d]);
        record.elementStride[d] = 1;
      }
      record.type = uint8_t(slot.type);
      record.padding = type.getPaddingIsNan();
      builder.slots[index].descriptor = uint32_t(builder.descriptors.size());
      builder.descriptors.push_back(record);
    }
    builder.slots[index].divisibility = slot.divisibility;
    builder.slots[index].access = slot.access;
  }
}

void addRecordSite(support::ArtifactBuilder &builder, Operation *op, uint32_t kind) {
  support::SiteRecord site;
  site.kind = kind;
  site.location = addLocation(builder, op->getLoc());
  site.firstOperand = builder.operands.size();
  auto addOperand = [&](Value value, bool isSigned) {
    support::OperandRecord operand;
    auto shape = tile::shapeOf(value.getType());
    Type element = tile::elementType(value.getType());
    operand.type = uint32_t(dtypeOf(element, isSigned));
    operand.isPointer = isa<tile::PtrType>(element);
    operand.rank = std::min<size_t>(shape.size(), support::maxRank);
    for (uint32_t d = 0; d < operand.rank; ++d)
      operand.shape[d] = uint32_t(shape[d]);
    builder.operands.push_back(operand);
  };
  if (auto print = dyn_cast<tile::PrintOp>(op)) {
    site.message = builder.text(print.getPrefix().str());
    site.hex = print.getHex();
    for (auto [i, value] : llvm::enumerate(print.getValues()))
      addOperand(value, i < print.getIsSigned().size() ? print.getIsSigned()[i] : true);
  } else if (auto check = dyn_cast<tile::AssertOp>(op)) {
    site.message = builder.text(check.getMessage().str());
    addOperand(check.getCondition(), false);
  }
  site.operandCount = builder.operands.size() - site.firstOperand;
  builder.sites.push_back(site);
}

} // namespace nereid::pipeline
