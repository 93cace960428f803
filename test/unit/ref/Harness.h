// Runs kernels written as tile IR text on arrays of the test.
#pragma once

#include "ref/Interpreter.h"
#include "ref/Number.h"
#include "ref/Reference.h"

#include "ir/TileOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace nereid::ref {

template <typename T> constexpr DType dtypeOf();
template <> constexpr DType dtypeOf<float>() { return DType::Float32; }
template <> constexpr DType dtypeOf<double>() { return DType::Float64; }
template <> constexpr DType dtypeOf<int8_t>() { return DType::Int8; }
template <> constexpr DType dtypeOf<uint8_t>() { return DType::Int8; }
template <> constexpr DType dtypeOf<int32_t>() { return DType::Int32; }
template <> constexpr DType dtypeOf<uint32_t>() { return DType::UInt32; }
template <> constexpr DType dtypeOf<int64_t>() { return DType::Int64; }
template <> constexpr DType dtypeOf<uint16_t>() { return DType::Float16; }

/// A context with the models, a module parsed from text, and the launch being prepared.
class Kernel {
public:
  explicit Kernel(std::string_view text, Options options = {}) : options(options) {
    mlir::DialectRegistry registry;
    registry.insert<tile::TileDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                    mlir::math::MathDialect, mlir::scf::SCFDialect>();
    registerReferenceModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    mlir::ParserConfig config(&context);
    module = mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(text.data(), text.size()),
                                                     config, "kernel.mlir");
  }

  /// Passes the array as a pointer argument.
  template <typename T>
  Kernel &tensor(std::string name, std::vector<T> &values, DType dtype = dtypeOf<T>()) {
    MemoryRange range;
    range.base = reinterpret_cast<uint64_t>(values.data());
    range.bytes = values.size() * sizeof(T);
    range.name = std::move(name);
    range.dtype = dtype;
    range.shape = {int64_t(values.size())};
    range.strides = {1};
    launch.memory.push_back(range);
    launch.arguments.push_back(int64_t(range.base));
    return *this;
  }
  Kernel &value(int64_t v) {
    launch.arguments.push_back(v);
    return *this;
  }
  Kernel &value(int v) { return value(int64_t(v)); }
  Kernel &value(double v) {
    launch.arguments.push_back(v);
    return *this;
  }

  Result<Statistics> tryRun(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1) {
    if (!module)
      return Error{"the text does not parse", {}};
    launch.grid = {x, y, z};
    launch.onPrint = [this](const Printed &p) { printed.push_back(p.text); };
    launch.onFinding = [this](const Finding &f) { findings.push_back(f); };
    auto kernel = *module->getOps<mlir::func::FuncOp>().begin();
    auto interpreter = Interpreter::prepare(kernel, options);
    if (!interpreter)
      return interpreter.takeError();
    return interpreter->launch(launch);
  }
  Statistics run(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1) {
    auto result = tryRun(x, y, z);
    if (!result) {
      ADD_FAILURE() << result.error().what;
      return {};
    }
    return result.value();
  }

  Options options;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Launch launch;
  std::vector<std::string> printed;
  std::vector<Finding> findings;
};

/// A kernel of one program over `n` elements: `%a`, `%b` and `%c` are loaded from three tensors,
/// `body` computes `%r`, which is stored. In `body`, `$n` is the element count, and `$i32` a tile
/// of i32.
inline std::string lanesKernel(unsigned n, std::string a, std::string b, std::string c,
                               std::string result, std::string body) {
  std::string count = std::to_string(n);
  std::string text = "func.func @k(%pa: !tile.ptr<" + a + ">, %pb: !tile.ptr<" + b +
                     ">, %pc: !tile.ptr<" + c + ">, %pr: !tile.ptr<" + result +
                     ">) attributes {tile.kernel} {\n%lane = tile.arange 0 to $n : $i32\n";
  auto pointer = [&](std::string name, std::string type) {
    text += "%s" + name + " = tile.splat %p" + name + " : !tile.ptr<" + type +
            "> -> tensor<$nx!tile.ptr<" + type + ">>\n%q" + name + " = tile.addptr %s" + name +
            ", %lane : tensor<$nx!tile.ptr<" + type + ">>, $i32\n";
  };
  for (const auto &[name, type] : {std::pair("a", a), std::pair("b", b), std::pair("c", c)}) {
    pointer(name, type);
    text += std::string("%") + name + " = tile.load %q" + name + " : tensor<$nx!tile.ptr<" + type +
            ">> -> tensor<$nx" + type + ">\n";
  }
  pointer("r", result);
  text += body + "\ntile.store %qr, %r : tensor<$nx!tile.ptr<" + result + ">>, tensor<$nx" +
          result + ">\nreturn\n}\n";
  for (size_t at; (at = text.find("$i32")) != std::string::npos;)
    text.replace(at, 4, "tensor<" + count + "xi32>");
  for (size_t at; (at = text.find("$n")) != std::string::npos;)
    text.replace(at, 2, count);
  return text;
}

} // namespace nereid::ref
