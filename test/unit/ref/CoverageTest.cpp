// No op of the tile dialect lacks a meaning.
#include "Harness.h"

namespace nereid::ref {
namespace {

TEST(Coverage, EveryTileOpHasAReference) {
  Kernel kernel("func.func @nothing() { return }");
  unsigned seen = 0;
  for (mlir::RegisteredOperationName name : kernel.context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "tile" || name.hasTrait<mlir::OpTrait::IsTerminator>())
      continue;
    ++seen;
    EXPECT_TRUE(name.hasInterface<tile::ReferenceOpInterface>()) << name.getStringRef().str();
  }
  EXPECT_GT(seen, 50u);
}

TEST(Coverage, AnUnknownOpIsADiagnosticWithItsPlace) {
  Kernel kernel("func.func @k(%i: index) {\n  %c = arith.ceildivsi %i, %i : index\n  return\n}");
  auto result = kernel.value(1).tryRun();
  ASSERT_FALSE(result.ok());
  ASSERT_EQ(result.error().diagnostics.size(), 1u);
  EXPECT_EQ(result.error().diagnostics[0].code, "UnsupportedByInterpreter");
  EXPECT_EQ(result.error().diagnostics[0].where.begin.line, 2u);
}

} // namespace
} // namespace nereid::ref
