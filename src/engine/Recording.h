// What nereid/tl.h records: text of the Triton language and the C++ places it stands for.
#pragma once

#include "nereid/base.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace nereid::tl {
class Module;
}

namespace nereid::engine {

struct Recording {
  std::string name; ///< the logical name of the text
  std::string text;
  std::vector<Diagnostic> diagnostics; ///< mistakes in the use of nereid/tl.h

  /// A piece of the text and where it was written. Pieces of one line are nested or apart.
  struct Place {
    uint32_t begin, end; ///< columns, from 0
    std::string file;
    SourcePos position;
  };
  std::map<uint32_t, std::vector<Place>> places; ///< by line of the text, inner pieces last
  struct Variable {
    std::string file;
    SourcePos position;
  };
  std::map<std::string, Variable> variables; ///< "v3" of the kernel `add` is "add.v3"
  std::map<uint32_t, std::string> functions; ///< first line -> name

  /// The innermost piece at a place of the text, or null.
  const Place *find(SourcePos position) const;
  /// Diagnostics of the text as ones of the C++ source, with the variables that they name.
  Diagnostic translate(Diagnostic diagnostic) const;
  Error translate(Error error) const;
  /// Makes the locations of a module that was emitted from the text those of the C++ source.
  void relocate(mlir::ModuleOp module) const;
  /// All places in one text, for keys: artifacts hold lines.
  std::string placesText() const;
};

/// What the module recorded.
const Recording &recordingOf(const tl::Module &module);

} // namespace nereid::engine
