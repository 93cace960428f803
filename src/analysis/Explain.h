// What each source line of a kernel does to one program: shapes, types, masks, bytes and
// operations.
//
// Facts come from tile IR and its locations; no target is involved. A line inside an inlined helper
// is reported at its own place and names the line of the kernel that called it.
#pragma once

#include "ir/TileOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>
#include <map>
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
  /// Of one program on average, all executions together.
  double bytesRead = 0, bytesWritten = 0, operations = 0;
};

struct Explanation {
  std::string kernel;
  std::vector<std::pair<std::string, std::string>> parameters; ///< name and type, with divisibility
  std::vector<ExplainedLine> lines; ///< in source order, the kernel's file first
  int64_t bytesRead = 0, bytesWritten = 0, operations = 0; ///< of one program, on average
  /// Of `operations`, those of products, by the element of their operands ("f16").
  std::map<std::string, double> dotOperations;
  /// A loop's trip count is not known; the sums count its body once.
  bool hasLoops = false;
  int64_t largestTileBytes = 0;
};

/// What is known of a launch; it tells how often loops run and which branches are taken.
struct LaunchValues {
  std::vector<std::optional<int64_t>> arguments; ///< integers, one an argument of the function
  std::array<uint32_t, 3> grid = {0, 0, 0};      ///< 0: not known
};

/// With a grid, averages over some of its programs.
Explanation explain(mlir::func::FuncOp kernel, const LaunchValues &launch = {});

/// "f32[128, 64]", "*f16[128]", "i32": a type of tile IR in few characters.
std::string shortType(mlir::Type type);

/// A line of the source, and the outermost call that led there.
struct SourceLine {
  std::string file;
  unsigned line = 0; ///< 0: not known
  std::string calledFrom;
};
SourceLine sourceLine(mlir::Location location);

} // namespace nereid::analysis
