// Which statements of Python kernels do without.
#pragma once

#include "syntax/Ast.h"

#include <optional>

namespace nereid::emit {

/// A statement that is not part of the kernel language, as messages call it.
struct UnsupportedStatement {
  const char *name;
  const char *hint; ///< what to write instead
};

/// Nothing for statements that kernels may have.
std::optional<UnsupportedStatement> unsupportedStatement(const syntax::Stmt &stmt);

} // namespace nereid::emit
