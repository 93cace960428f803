// A function to build ops in, with arguments of any type.
#pragma once

#include "ops/Build.h"
#include "ops/Objects.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

namespace nereid::ops::test {

struct OpsTest : ::testing::Test {
  OpsTest() : builder(&context) {
    context.loadDialect<tile::TileDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                        mlir::func::FuncDialect, mlir::scf::SCFDialect>();
    module = mlir::ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    function = builder.create<mlir::func::FuncOp>(builder.getUnknownLoc(), "f",
                                                  builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
    op.emplace(OpContext{builder, builder.getUnknownLoc(), options,
                         [this](std::string code, std::string text, std::string) {
                           notes.push_back(std::move(code));
                           noted = std::move(text);
                         }});
  }

  /// A run-time value of a type.
  Tile argument(Type type) {
    auto &block = function.getBody().front();
    return {block.addArgument(type.lower(&context), builder.getUnknownLoc()), type};
  }
  Tile argument(DType dtype, std::vector<int64_t> shape = {}) {
    return argument(Type::block(std::move(shape), Type::scalar(dtype)));
  }
  Tile pointers(DType dtype, std::vector<int64_t> shape = {}) {
    return argument(Type::block(std::move(shape), Type::pointer(Type::scalar(dtype))));
  }

  using Keywords = std::vector<std::pair<std::string, Value>>;
  Value call(std::string_view name, std::vector<Value> args, Keywords keywords = {}) {
    const Row *row = find(name);
    if (!row || !row->build)
      throw std::runtime_error("no builder for " + std::string(name));
    std::vector<Value> bound = bind(*row, std::move(args), std::move(keywords));
    return row->build(*op, bound);
  }
  Value method(const Value &self, std::string_view name, std::vector<Value> args,
               Keywords keywords = {}) {
    const Row *row = findMethod(self, name);
    if (!row || !row->build)
      throw std::runtime_error("no method " + std::string(name));
    args.insert(args.begin(), self);
    std::vector<Value> bound = bind(*row, std::move(args), std::move(keywords));
    return row->build(*op, bound);
  }

  /// The code of the error that `build` throws, or "".
  template <typename F> std::string errorOf(F build, OpError *out = nullptr) {
    try {
      build();
    } catch (const OpError &error) {
      if (out)
        *out = error;
      return error.code;
    }
    return "";
  }

  /// The body, one op a line, after checking it.
  std::string body() {
    auto &block = function.getBody().front();
    llvm::SmallVector<mlir::Type> inputs(block.getArgumentTypes());
    function.setFunctionType(builder.getFunctionType(inputs, {}));
    // Only for the printing: more ops may follow.
    auto end = builder.create<mlir::func::ReturnOp>(builder.getUnknownLoc());
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
    std::string text;
    llvm::raw_string_ostream stream(text);
    function.print(stream);
    end.erase();
    return text;
  }
  void expectIr(std::string_view part) {
    std::string text = body();
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  CompileOptions options;
  std::vector<std::string> notes;
  std::string noted; ///< by the last note
  std::optional<OpContext> op;
};

inline std::string typeOf(const Value &value) { return value.asTile().type.str(); }

} // namespace nereid::ops::test
