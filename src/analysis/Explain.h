// What each source line of a kernel does to one program: shapes, types, masks, bytes and
// operations.
//
// Facts come from tile IR and its locations; no target is involved. A line inside an inlined helper
// is reported at its own place and names the line of the kernel that called it.
#pragma once

#include "ir/TileOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace nereid::analysis {

/// Something worth saying about one op of a line.
struct ExplainedOp {
  std::string what;                        ///< "load", "store", "dot", "sum", "value"...
  std::string type;                        ///< "f32[128, 64]", "*f16[128]", "i32"
  std::string note;                        ///< "masked, other given", "K = 64, tf32"; may be empty
  int64_t bytesRead = 0, bytesWritten = 0; ///< at most, for one execution
  int64_t operations = 0;                  ///< floating and integer arithmetic of one execution
};

struct ExplainedLine {
  std::string file;
  unsigned line = 0;
  std::string calledFrom; ///< "kernel.py:31" when the line belongs to an inlined helper
  unsigned loopDepth = 0; ///< of the innermost op of the line
  std::vector<ExplainedOp> ops;
};

struct Explanation {
  std::string kernel;
  std::vector<std::pair<std::string, std::string>> parameters; ///< name and type, with divisibility
  std::vector<ExplainedLine> lines; ///< in source order, the kernel's file first
  int64_t bytesRead = 0, bytesWritten = 0, operations = 0; ///< straight-line part of one program
  bool hasLoops =
      false; ///< then the sums count each loop body once, unless its trip count is constant
  int64_t largestTileBytes = 0;
};

Explanation explain(mlir::func::FuncOp kernel);

/// "f32[128, 64]", "*f16[128]", "i32": a type of tile IR in few characters.
std::string shortType(mlir::Type type);

/// The number of iterations of a loop whose bounds and step are constants.
std::optional<int64_t> constantTripCount(mlir::Operation *loop);

} // namespace nereid::analysis
