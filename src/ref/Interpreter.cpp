#include "ref/Interpreter.h"

#include "ref/Machine.h"
#include "ref/Models.h"
#include "ref/Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectRegistry.h"

#include "ref/Check.h"

using namespace mlir;

namespace nereid::ref {

void registerReferenceModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, arith::ArithDialect *) { attachArithModels(context); });
  registry.addExtension(
      +[](MLIRContext *context, math::MathDialect *) { attachMathModels(context); });
  registry.addExtension(
      +[](MLIRContext *context, scf::SCFDialect *) { attachControlFlowModels(context); });
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    attachElementwiseModels(context);
    attachShapeModels(context);
    attachReductionModels(context);
    attachDotModels(context);
    attachMemoryModels(context);
    attachDescriptorModels(context);
    attachDebugModels(context);
    attachExternModels(context);
    attachInlineAsmModels(context);
  });
}

Interpreter::Interpreter(std::unique_ptr<const Program> program) : program(std::move(program)) {}
Interpreter::Interpreter(Interpreter &&) = default;
Interpreter &Interpreter::operator=(Interpreter &&) = default;
Interpreter::~Interpreter() = default;

Result<Interpreter> Interpreter::prepare(func::FuncOp kernel, const Options &options) {
  auto program = std::make_unique<Program>();
  program->options = options;
  try {
    Decoder(*program).decodeFunction(kernel);
  } catch (Decoder::Unsupported &unsupported) {
    Diagnostic diagnostic;
    diagnostic.code = "UnsupportedByInterpreter";
    diagnostic.message = std::move(unsupported.what);
    diagnostic.hint = std::move(unsupported.hint);
    setPlace(diagnostic, unsupported.loc);
    return Error{"cannot interpret `" + kernel.getName().str() + "`: " + diagnostic.message,
                 {diagnostic}};
  }
  return Interpreter(std::move(program));
}

// Why an argument does not fit its parameter; empty if it does.
static std::string mismatch(Type type, const Argument &argument) {
  if (auto desc = dyn_cast<tile::DescType>(type)) {
    auto *value = std::get_if<DescriptorArgument>(&argument);
    if (!value)
      return "wants a tensor descriptor";
    size_t rank = desc.getBlockShape().size();
    if (value->shape.size() != rank || value->strides.size() != rank ||
        rank > DescriptorValue::maxRank)
      return "wants a descriptor of rank " + std::to_string(rank);
    return {};
  }
  if (isa<FloatType>(type))
    return std::holds_alternative<double>(argument) ? "" : "wants a float";
  if (isa<RankedTensorType>(type))
    return "is a tile, which no launch can pass";
  return std::holds_alternative<int64_t>(argument) ? "" : "wants an integer or an address";
}

Result<Statistics> Interpreter::launch(const Launch &launch) const {
  if (launch.arguments.size() != program->arguments.size())
    return Error{"the kernel takes " + std::to_string(program->arguments.size()) +
                     " arguments, the launch has " + std::to_string(launch.arguments.size()),
                 {}};
  for (size_t i = 0; i < launch.arguments.size(); ++i)
    if (std::string why = mismatch(program->argumentTypes[i], launch.arguments[i]); !why.empty())
      return Error{"parameter " + std::to_string(i) + " " + why, {}};
  uint64_t programs = 1;
  for (uint32_t extent : launch.grid) {
    if (__builtin_mul_overflow(programs, extent, &programs))
      return Error{"the grid has more than 2^64 programs", {}};
  }
  try {
    Machine machine(*program, launch);
    machine.run();
    if (machine.fault) {
      Diagnostic diagnostic = std::move(machine.fault->diagnostic);
      Error error{diagnostic.message, {}};
      error.diagnostics.push_back(std::move(diagnostic));
      return error;
    }
    return machine.statistics;
  } catch (std::bad_alloc &) {
    return Error{"out of memory", {}};
  }
}

} // namespace nereid::ref
