#include "gpu/TileGpu.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "gpu/GpuInterfaces.cpp.inc"
#include "gpu/TileGpuDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "gpu/TileGpuAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "gpu/TileGpuTypes.cpp.inc"
#define GET_OP_CLASSES
#include "gpu/TileGpuOps.cpp.inc"

using namespace mlir;

namespace nereid::gpu {

using tile::LayoutInput;
using tile::LinearLayout;

namespace {
// Layouts are long: they are printed once, above the code, as #layout, #layout1, ...
struct LayoutAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (!isa<LayoutAttr>(attr))
      return AliasResult::NoAlias;
    os << "layout";
    return AliasResult::FinalAlias;
  }
};
} // namespace

void TileGpuDialect::initialize() {
  addInterfaces<LayoutAliases>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gpu/TileGpuAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "gpu/TileGpuTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "gpu/TileGpuOps.cpp.inc"
      >();
}

LinearLayout LayoutAttr::getLayout() const {
  LinearLayout layout(getRank());
  auto add = [&](LayoutInput input, ArrayRef<int32_t> flat) {
    for (; !flat.empty(); flat = flat.drop_front(getRank()))
      layout.addBasis(input, LinearLayout::Basis(flat.take_front(getRank())));
  };
  add(LayoutInput::Register, getRegisters());
  add(LayoutInput::Lane, getLanes());
  add(LayoutInput::Warp, getWarps());
  add(LayoutInput::Block, getBlocks());
  return layout;
}

LayoutAttr LayoutAttr::get(MLIRContext *context, const LinearLayout &layout) {
  auto flat = [&](LayoutInput input) {
    SmallVector<int32_t> out;
    for (const LinearLayout::Basis &basis : layout.bases(input))
      llvm::append_range(out, basis);
    return out;
  };
  return get(context, layout.rank(), flat(LayoutInput::Register), flat(LayoutInput::Lane),
             flat(LayoutInput::Warp), flat(LayoutInput::Block));
}

static constexpr std::array<StringLiteral, 4> inputNames = {"register", "lane", "warp", "block"};

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<" << getRank();
  std::array<ArrayRef<int32_t>, 4> inputs = {getRegisters(), getLanes(), getWarps(), getBlocks()};
  for (auto [name, flat] : llvm::zip(inputNames, inputs)) {
    if (flat.empty())
      continue;
    printer << ", " << name << " = [";
    for (size_t i = 0; i < flat.size(); i += getRank()) {
      printer << (i ? ", [" : "[");
      llvm::interleaveComma(flat.slice(i, getRank()), printer);
      printer << "]";
    }
    printer << "]";
  }
  printer << ">";
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  unsigned rank = 0;
  if (parser.parseLess() || parser.parseInteger(rank))
    return {};
  std::array<SmallVector<int32_t>, 4> inputs;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return {};
    auto *found = llvm::find(inputNames, name);
    if (found == inputNames.end()) {
      parser.emitError(at, "unknown part of a layout: `") << name << "`";
      return {};
    }
    SmallVector<int32_t> &flat = inputs[found - inputNames.begin()];
    auto basis = [&]() -> ParseResult {
      size_t before = flat.size();
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
            return parser.parseInteger(flat.emplace_back());
          }))
        return failure();
      if (flat.size() - before != rank)
        return parser.emitError(at, "a basis vector needs one number a dimension");
      return success();
    };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, basis))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return LayoutAttr::get(parser.getContext(), rank, inputs[0], inputs[1], inputs[2], inputs[3]);
}

LinearLayout layoutOf(Type tensor) {
  return cast<LayoutAttr>(cast<RankedTensorType>(tensor).getEncoding()).getLayout();
}

RankedTensorType withLayout(Type type, const LinearLayout &layout) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               LayoutAttr::get(type.getContext(), layout));
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  return getSource().getType() == getType() ? OpFoldResult(getSource()) : OpFoldResult();
}

LogicalResult ConvertLayoutOp::verify() {
  auto from = cast<RankedTensorType>(getSource().getType()), to = cast<RankedTensorType>(getType());
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError("changes more than the layout");
  return success();
}

} // namespace nereid::gpu
