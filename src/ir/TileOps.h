// The tile dialect (`ir/TileOps.td`) and what every user of it needs.
#pragma once

#include "ir/AxisFacts.h"
#include "ir/LinearLayout.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <functional>

namespace nereid::ref {
class Decoder;
class Frame;
/// Runs one op on the values of a frame (src/ref/Program.h).
using Step = std::function<void(Frame &)>;
} // namespace nereid::ref
namespace nereid::cpu {
class LaneEmitter;
struct Lanes;
} // namespace nereid::cpu

namespace nereid::tile {

/// What loads and stores touch.
struct GlobalMemory : mlir::SideEffects::Resource::Base<GlobalMemory> {
  mlir::StringRef getName() final { return "GlobalMemory"; }
};
/// What keeps asserts, assumptions and prints in their order without touching memory.
struct ProgramOrder : mlir::SideEffects::Resource::Base<ProgramOrder> {
  mlir::StringRef getName() final { return "ProgramOrder"; }
};

/// The largest tile, in elements (as in Triton).
inline constexpr int64_t maxTileElements = 1 << 20;

// Attributes of kernels, all of them discardable.
inline constexpr llvm::StringLiteral kernelAttr = "tile.kernel"; ///< on a func.func: unit
inline constexpr llvm::StringLiteral maxRegistersAttr =
    "tile.maxnreg"; ///< on the module, i32: at most so many registers a thread; absent: any number
inline constexpr llvm::StringLiteral numWarpsAttr = "tile.num_warps"; ///< on the module: i32
inline constexpr llvm::StringLiteral numStagesAttr =
    "tile.num_stages"; ///< on the module and on scf.for: i32
inline constexpr llvm::StringLiteral numCtasAttr = "tile.num_ctas"; ///< on the module: i32
/// What precedes the symbol of a library's function in code that calls it.
inline constexpr llvm::StringLiteral libraryCallPrefix = "nereid.library.";
inline constexpr llvm::StringLiteral librariesAttr =
    "tile.libraries"; ///< on the module, strings: files of the functions of `tile.library_call`
inline constexpr llvm::StringLiteral divisibilityAttr =
    "tile.divisibility"; ///< on an argument: i64, bytes for pointers
inline constexpr llvm::StringLiteral argNameAttr = "tile.name"; ///< on an argument: string
inline constexpr llvm::StringLiteral argDTypeAttr =
    "tile.dtype"; ///< on an argument: string, signature spelling ("*fp32", "u64")

/// The element type of a scalar or tensor.
inline mlir::Type elementType(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? tensor.getElementType() : type;
}
/// True of the type of a tile, and of a value that has one.
inline constexpr auto isTile = [](auto what) {
  if constexpr (std::is_convertible_v<decltype(what), mlir::Value>)
    return mlir::isa<mlir::RankedTensorType>(mlir::Value(what).getType());
  else
    return mlir::isa<mlir::RankedTensorType>(what);
};
/// The shape of a tensor; empty for a scalar.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? tensor.getShape() : llvm::ArrayRef<int64_t>();
}
/// The tensor type of `shape`, or `element` itself if the shape is empty.
inline mlir::Type typeOf(llvm::ArrayRef<int64_t> shape, mlir::Type element) {
  return shape.empty() ? element : mlir::RankedTensorType::get(shape, element);
}
/// Bytes of one element in memory (i1 takes one, a pointer eight).
unsigned bytesInMemory(mlir::Type element);

} // namespace nereid::tile

#include "ir/TileDialect.h.inc"
#include "ir/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/TileAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/TileInterfaces.h.inc"
#include "ir/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "ir/TileOps.h.inc"
