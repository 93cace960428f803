// A kernel's parameters in the order in which arguments are bound to them. `*rest` is one of them,
// a tuple.
#pragma once

#include "syntax/Ast.h"

#include <vector>

namespace nereid::emit {

inline std::vector<const syntax::Arg *> parametersOf(const syntax::Arguments &arguments) {
  std::vector<const syntax::Arg *> all;
  auto add = [&](const syntax::Span<syntax::Arg> &list) {
    for (const syntax::Arg &arg : list)
      all.push_back(&arg);
  };
  add(arguments.posonlyargs);
  add(arguments.args);
  if (arguments.vararg)
    all.push_back(arguments.vararg);
  add(arguments.kwonlyargs);
  return all;
}

/// Where those begin that are given by name alone.
inline size_t keywordOnlyFrom(const syntax::Arguments &arguments) {
  return arguments.posonlyargs.size() + arguments.args.size() + (arguments.vararg ? 1 : 0);
}

} // namespace nereid::emit
