// Ops whose result the dialect defines where the machine's instruction does not, written with plain
// arith and LLVM ops. All work on scalars and on vectors; 8-bit floats are i8.
#pragma once

#include "ir/TileOps.h"
#include "mlir/IR/Builders.h"

namespace nereid::transforms {

enum class Total { DivS, DivU, RemS, RemU, ShL, ShRS, ShRU };

/// tile.divsi, tile.shl, ... `sameDivisor`: all lanes of `y` are one number, which is likely to be
/// known before the loop around.
mlir::Value expandTotal(mlir::OpBuilder &b, mlir::Location loc, Total kind, mlir::Value x,
                        mlir::Value y, bool sameDivisor = false);
/// The upper half of the unsigned product.
mlir::Value expandMulHigh(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
/// Float to float as `tile.fp_convert` says. `from` and `to` are the formats of one element.
mlir::Value expandFloatConversion(mlir::OpBuilder &b, mlir::Location loc, mlir::Value source,
                                  mlir::Type from, mlir::Type to,
                                  tile::Rounding rounding = tile::Rounding::RTNE);

} // namespace nereid::transforms
