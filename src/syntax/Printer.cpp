// Tree to source text.
#include "syntax/PrinterImpl.h"

#include <utility>

namespace nereid::syntax {

std::string print(const Expr &expr) {
  Printer printer;
  printer.expression(expr);
  return std::move(printer.out);
}

std::string print(const Stmt &stmt) {
  Printer printer;
  printer.statement(stmt);
  return std::move(printer.out);
}

std::string print(const Pattern &pattern) {
  Printer printer;
  printer.pattern(pattern);
  return std::move(printer.out);
}

std::string print(const Module &module) {
  Printer printer;
  printer.module(module);
  return std::move(printer.out);
}

} // namespace nereid::syntax
