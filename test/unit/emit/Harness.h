// Emits kernels from strings, for the tests of this room.
#pragma once

#include "emit/Program.h"

#include <gtest/gtest.h>

#include <regex>

namespace nereid::emit {

struct Emission {
  std::string ir; ///< empty on failure
  std::vector<Diagnostic> diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  /// How often `text` occurs in the IR.
  int count(std::string_view text) const {
    int times = 0;
    for (size_t at = 0; (at = ir.find(text, at)) != std::string::npos; at += text.size())
      ++times;
    return times;
  }
  bool has(std::string_view text) const { return count(text) > 0; }
  const Diagnostic *error() const {
    for (const Diagnostic &diagnostic : diagnostics)
      if (diagnostic.severity == Severity::Error)
        return &diagnostic;
    return nullptr;
  }
  std::string code() const { return error() ? error()->code : ""; }
  std::string message() const { return error() ? error()->message : ""; }
  uint32_t line() const { return error() ? error()->where.begin.line : 0; }
};

inline const char *header = "import triton\nimport triton.language as tl\n";

class EmitTest : public testing::Test {
protected:
  /// `source` follows two imports and starts with a blank line: its first words are on line 4.
  Emission emit(const std::string &source, const std::string &kernel, const std::string &signature,
                HostOptions host = {}, ops::CompileOptions options = {}) {
    Emission result;
    SourceUnit unit;
    unit.text = header + source;
    unit.file = "test.py";
    unit.resolver = resolver;
    LoadedProgram loaded = Program::load(unit, host);
    result.diagnostics = loaded.diagnostics;
    if (!loaded.program)
      return result;
    auto specialization = support::Specialization::parse(signature);
    EXPECT_TRUE(specialization.ok()) << signature;
    if (!specialization.ok())
      return result;
    Emitted emitted = loaded.program->emit(context, kernel, *specialization, constants, options);
    result.diagnostics = std::move(emitted.diagnostics);
    result.module = std::move(emitted.module);
    if (result.module) {
      llvm::raw_string_ostream stream(result.ir);
      result.module->print(stream);
    }
    facts = loaded.program->interp().facts();
    return result;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::map<std::string, support::Constant> constants;
  std::set<Fact> facts;
  Resolver resolver;
};

} // namespace nereid::emit
