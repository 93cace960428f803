// nereid-opt: runs passes over IR files, for lit tests and for looking at one pass alone.
#include "ir/TileOps.h"
#include "ref/Reference.h"
#include "transforms/CountTrips.h"
#include "transforms/DropUnitDims.h"
#include "transforms/ExpandInlineAsm.h"
#include "transforms/ExpandScaledProducts.h"
#include "transforms/FoldAddends.h"
#include "transforms/SplitProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<nereid::tile::TileDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::ub::UBDialect>();
  nereid::ref::registerReferenceModels(registry);
  mlir::registerTransformsPasses();
  nereid::transforms::registerCountTripsPass();
  nereid::transforms::registerExpandInlineAsmPass();
  nereid::transforms::registerExpandScaledProductsPass();
  nereid::transforms::registerDropUnitDimsPass();
  nereid::transforms::registerFoldAddendsPass();
  nereid::transforms::registerSplitProductsPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tile IR optimizer driver\n", registry));
}
