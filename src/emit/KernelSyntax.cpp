#include "emit/KernelSyntax.h"

namespace nereid::emit {

using syntax::StmtKind;

std::optional<UnsupportedStatement> unsupportedStatement(const syntax::Stmt &stmt) {
  const char *leave = "put the rest of the body under an `if`, or use `while` with the condition";
  const char *outside = "write results through a pointer, and pass constants as `tl.constexpr` "
                        "parameters";
  switch (stmt.kind) {
  case StmtKind::FunctionDef:
    return {{"a nested function", "define it at module level, under `@triton.jit`"}};
  case StmtKind::ClassDef:
    return {{"a nested class", "define it at module level"}};
  case StmtKind::Delete:
    return {{"`del`", "leave it out: values end with their last use"}};
  case StmtKind::TypeAlias:
    return {{"a type alias", "define it at module level"}};
  case StmtKind::Match:
    return {{"`match`", "compare with `if` and `elif`"}};
  case StmtKind::Try:
    return {{"`try`", "kernels raise nothing: guard with `if`, or mask the access"}};
  case StmtKind::Import:
  case StmtKind::ImportFrom:
    return {{"`import`", "import at the top of the file"}};
  case StmtKind::Global:
    return {{"`global`", outside}};
  case StmtKind::Nonlocal:
    return {{"`nonlocal`", outside}};
  case StmtKind::Break:
    return {{"`break`", leave}};
  case StmtKind::Continue:
    return {{"`continue`", leave}};
  default:
    return std::nullopt;
  }
}

} // namespace nereid::emit
