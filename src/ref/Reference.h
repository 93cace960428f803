// What the interpreter needs of a context.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace nereid::ref {

/// Gives the ops of tile, arith, math and scf their ReferenceOpInterface.
void registerReferenceModels(mlir::DialectRegistry &registry);

} // namespace nereid::ref
