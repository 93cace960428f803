// Contract 3: whatever holds kernels, as the engine takes it. A file, a string, a notebook cell and
// a Python closure all become one of these.
#pragma once

#include "nereid/base.h"
#include "support/Specialization.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace nereid::emit {

struct SourceUnit;

/// A value that whoever hands over the source knows: a global of a notebook, a closed-over variable
/// of a Python function.
struct InjectedValue {
  enum class Kind : uint8_t {
    Constant,  ///< `constant`; counts as a `tl.constexpr` if `isConstexpr`
    Module,    ///< the module `module`, as `import` would give it
    Function,  ///< the function `function` of the module `module`
    Attribute, ///< anything else that `from module import function` would give
    Tuple,     ///< of `elements`; counts as a `tl.constexpr` if `isConstexpr`
  };
  Kind kind = Kind::Constant;
  support::Constant constant;
  bool isConstexpr = false;
  std::string module, function;
  std::vector<InjectedValue> elements;
  std::vector<std::string> names; ///< of the elements of a named tuple, else empty
};

/// How `import` and `from . import` find source. Given the dotted name of a module, returns its
/// unit, or null if there is none; the engine reads no file itself. The name is absolute where the
/// package of the importing unit is known.
using Resolver = std::function<std::shared_ptr<const SourceUnit>(const std::string &module)>;

struct SourceUnit {
  std::string text; ///< bytes as found; a cut-out piece is dedented by `firstColumn`
  std::string file; ///< logical name: what messages, locations and keys call it, never absolute
  uint32_t firstLine = 1;
  uint32_t firstColumn = 0;
  std::string module; ///< dotted name, `__name__`; empty: made from `file`
  /// By name. "f.x" is the default of the parameter `x` of `f`, instead of what the text says.
  std::map<std::string, InjectedValue> globals;
  Resolver resolver; ///< may be empty
};

/// The unit's module name: `module`, or the last component of `file` without its ending.
std::string moduleName(const SourceUnit &unit);

} // namespace nereid::emit
