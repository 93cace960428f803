#include "cpu/Exchanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace nereid::cpu {

int64_t BitIndex::block() const { return int64_t(llvm::bit_ceil(uint64_t(~keep | flip) + 1)); }

std::optional<BitIndex> bitIndex(tile::GatherOp gather) {
  auto shape = tile::shapeOf(gather.getType());
  unsigned axis = gather.getAxis();
  if (axis + 1 != shape.size() || shape != tile::shapeOf(gather.getSource().getType()))
    return {};
  const int64_t all = shape[axis] - 1;
  // Of the number i of an element: what `&`, `|` and `^` make of it.
  std::function<std::optional<BitIndex>(Value, unsigned)> of =
      [&](Value index, unsigned dim) -> std::optional<BitIndex> {
    Operation *op = index.getDefiningOp();
    if (auto arange = dyn_cast_if_present<tile::ArangeOp>(op)) {
      if (arange.getStart() == 0 && arange.getEnd() == all + 1)
        return BitIndex{-1, 0};
      return {};
    }
    if (auto expand = dyn_cast_if_present<tile::ExpandDimsOp>(op)) {
      unsigned at = expand.getAxis();
      return at == dim ? std::nullopt : of(expand.getSource(), dim - (dim > at));
    }
    if (auto broadcast = dyn_cast_if_present<tile::BroadcastOp>(op)) {
      if (tile::shapeOf(broadcast.getSource().getType())[dim] != all + 1)
        return {};
      return of(broadcast.getSource(), dim);
    }
    APInt constant;
    if (!isa_and_present<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op) ||
        !matchPattern(op->getOperand(1), m_ConstantInt(&constant)))
      return {};
    auto before = of(op->getOperand(0), dim);
    if (!before)
      return {};
    int64_t bits = constant.getSExtValue() & all;
    if (isa<arith::XOrIOp>(op))
      return BitIndex{before->keep, before->flip ^ bits};
    if (isa<arith::AndIOp>(op))
      return BitIndex{before->keep & (bits | ~all), before->flip & bits};
    return BitIndex{before->keep & ~bits, before->flip | bits};
  };
  return of(gather.getIndices(), axis);
}

bool isSameRow(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  auto longer = [](int64_t extent) { return extent > 1; };
  return llvm::equal(llvm::make_filter_range(a, longer), llvm::make_filter_range(b, longer));
}

namespace {

// A dimension of a tile, in the number of an element of the flat one: `extent` (a power of two)
// numbers from bit `shift` on. `fixed`: only one of them is looked at.
struct Dim {
  int64_t extent = 1;
  unsigned shift = 0;
  std::optional<int64_t> fixed = {};
  bool operator==(const Dim &other) const {
    return extent == other.extent && shift == other.shift && fixed == other.fixed;
  }
};
using Dims = SmallVector<Dim, 4>;

// Computes tiles of other shapes as one of the shape of `root`, element by element.
class Flattener {
public:
  explicit Flattener(tile::ReshapeOp root)
      : b(root), loc(root.getLoc()), shape(tile::shapeOf(root.getType())),
        elements(cast<RankedTensorType>(root.getType()).getNumElements()) {}

  // Null if some of it cannot be computed so, or if it only has its elements under another shape.
  Value flatten(tile::ReshapeOp root) {
    Value value = eval(root.getSource(), rowMajor(tile::shapeOf(root.getSource().getType())));
    return exchanges || !takes ? value : Value();
  }

private:
  static Dims rowMajor(ArrayRef<int64_t> shape) {
    Dims out(shape.size());
    unsigned shift = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      out[d] = {shape[d], shape[d] > 1 ? shift : 0, {}};
      shift += llvm::Log2_64(shape[d]);
    }
    return out;
  }

  Type flat(Type element) const { return RankedTensorType::get(shape, element); }
  Value constant(TypedAttr value) {
    auto type = cast<ShapedType>(flat(value.getType()));
    return b.create<arith::ConstantOp>(loc, SplatElementsAttr::get(type, value));
  }
  Value constant(int64_t value) { return constant(b.getI32IntegerAttr(int32_t(value))); }

  // The number of each element along the last dimension; null for one dimension of several if it
  // asks for more.
  Value numbers() {
    if (!iota) {
      int64_t last = shape.back();
      iota = b.create<tile::ArangeOp>(loc, RankedTensorType::get({last}, b.getI32Type()), 0,
                                      int32_t(last));
      SmallVector<int64_t> wide(shape.size(), 1);
      wide.back() = last;
      for (size_t d = 1; d < shape.size(); ++d) {
        SmallVector<int64_t> expanded(ArrayRef(wide).take_back(d + 1));
        iota = b.create<tile::ExpandDimsOp>(loc, RankedTensorType::get(expanded, b.getI32Type()),
                                            iota, 0);
      }
      if (ArrayRef<int64_t>(wide) != shape)
        iota = b.create<tile::BroadcastOp>(loc, flat(b.getI32Type()), iota);
    }
    return iota;
  }

  Value taken(Value source, int64_t keep, int64_t flip) {
    Value index = numbers();
    const int64_t all = shape.back() - 1;
    if ((keep & all) != all)
      index = b.create<arith::AndIOp>(loc, index, constant(keep & all));
    if (flip)
      index = b.create<arith::OrIOp>(loc, index, constant(flip));
    return b.create<tile::GatherOp>(loc, source.getType(), source, index,
                                    uint32_t(shape.size() - 1));
  }

  // The same as dimensions of two, the last one first.
  static Dims bitsOf(ArrayRef<Dim> dims) {
    Dims bits;
    for (const Dim &dim : llvm::reverse(dims))
      for (unsigned i = 0; 1ll << i < dim.extent; ++i)
        bits.push_back({2, dim.shift + i,
                        dim.fixed ? std::optional<int64_t>(*dim.fixed >> i & 1) : std::nullopt});
    return bits;
  }

  // The dimensions of a tile of shape `to`; nothing if one of them is a mixture.
  static std::optional<Dims> reshaped(ArrayRef<Dim> bits, ArrayRef<int64_t> to) {
    Dims out(to.size());
    size_t next = 0;
    for (size_t d = to.size(); d-- > 0;) {
      Dim &dim = out[d];
      dim.extent = to[d];
      for (unsigned i = 0; 1ll << i < to[d]; ++i, ++next) {
        if (next == bits.size())
          return {};
        const Dim &bit = bits[next];
        if (i == 0) {
          dim.shift = bit.shift;
          if (bit.fixed)
            dim.fixed = 0;
        }
        if (bit.shift != dim.shift + i || bit.fixed.has_value() != dim.fixed.has_value())
          return {};
        if (bit.fixed)
          *dim.fixed |= *bit.fixed << i;
      }
    }
    return out;
  }

  // The bit of the flat number that no dimension has; nothing if there is more than one.
  std::optional<unsigned> missingBit(ArrayRef<Dim> dims) const {
    int64_t missing = elements - 1;
    for (const Dim &dim : dims)
      missing &= ~((dim.extent - 1) << dim.shift);
    return llvm::isPowerOf2_64(uint64_t(missing))
               ? std::optional<unsigned>(llvm::Log2_64(uint64_t(missing)))
               : std::nullopt;
  }

  // The elements of a flat tile where `dims` has no choice.
  Value fix(Value source, ArrayRef<Dim> dims) {
    int64_t keep = -1, flip = 0;
    for (const Dim &dim : dims)
      if (dim.fixed) {
        keep &= ~((dim.extent - 1) << dim.shift);
        flip |= *dim.fixed << dim.shift;
      }
    if (keep == -1)
      return source;
    if (~keep >= shape.back() || !tile::elementType(source.getType()).isIntOrFloat())
      return {};
    // Bits that have another name have it afterwards: all that looks at them looks at one tile.
    if (auto bits = source.getDefiningOp<tile::BitcastOp>();
        bits && tile::elementType(bits.getSource().getType()).isIntOrFloat()) {
      Value fixed = fix(bits.getSource(), dims);
      return b.create<tile::BitcastOp>(loc, source.getType(), fixed);
    }
    return taken(source, keep, flip);
  }
  static bool isFixed(ArrayRef<Dim> dims) {
    return llvm::any_of(dims, [](const Dim &dim) { return dim.fixed.has_value(); });
  }

  Value eval(Value value, ArrayRef<Dim> dims) {
    for (const auto &[at, result] : memo[value])
      if (ArrayRef<Dim>(at) == dims)
        return result;
    Value result = compute(value, dims);
    memo[value].push_back({Dims(dims), result});
    return result;
  }

  Value compute(Value value, ArrayRef<Dim> dims) {
    Operation *op = value.getDefiningOp();
    if (!tile::isTile(value) || !op)
      return {};
    if (auto known = dyn_cast<arith::ConstantOp>(op)) {
      auto splat = dyn_cast<SplatElementsAttr>(known.getValue());
      return splat ? constant(splat.getSplatValue<TypedAttr>()) : Value();
    }
    if (auto splat = dyn_cast<tile::SplatOp>(op))
      return b.create<tile::SplatOp>(loc, flat(splat.getSource().getType()), splat.getSource());
    if (auto arange = dyn_cast<tile::ArangeOp>(op))
      return number(arange.getStart(), dims[0]);
    if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
      Dims there(dims);
      there.erase(there.begin() + expand.getAxis());
      return eval(expand.getSource(), there);
    }
    if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
      Dims there(dims);
      auto from = tile::shapeOf(broadcast.getSource().getType());
      for (size_t d = 0; d < from.size(); ++d)
        if (from[d] == 1)
          there[d] = {};
      return eval(broadcast.getSource(), there);
    }
    if (auto trans = dyn_cast<tile::TransOp>(op)) {
      Dims there(dims.size());
      for (auto [d, from] : llvm::enumerate(trans.getPerm()))
        there[from] = dims[d];
      return eval(trans.getSource(), there);
    }
    if (auto reshape = dyn_cast<tile::ReshapeOp>(op))
      return ofReshape(reshape, dims);
    if (auto split = dyn_cast<tile::SplitOp>(op)) {
      auto bit = missingBit(dims);
      if (!bit)
        return {};
      exchanges = true;
      Dims there(dims);
      there.push_back({2, *bit, int64_t(cast<OpResult>(value).getResultNumber())});
      return eval(split.getSource(), there);
    }
    // What others than the number of an element and its neighbours decide is computed once.
    if (isa<tile::JoinOp, tile::ReduceOp>(op) && isFixed(dims))
      return ofAll(value, dims);
    if (auto join = dyn_cast<tile::JoinOp>(op))
      return ofJoin(join, dims);
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return ofReduce(reduce, cast<OpResult>(value).getResultNumber(), dims);
    if (!isElementwise(op))
      return {};
    // Half of what data decide is taken from all of it, which the other half and the elements
    // themselves are taken from, too: computed in each half, steps in a row would grow threefold
    // each. A number that the half decides (the mask of a sum) makes the rest of it fold.
    if (isFixed(dims) && !isNumber(value) && llvm::none_of(op->getOperands(), [&](Value operand) {
          return tile::isTile(operand) && isNumber(operand) && isDecided(operand, dims);
        }))
      return ofAll(value, dims);
    IRMapping operands;
    for (Value operand : op->getOperands())
      if (tile::isTile(operand)) {
        Value there = eval(operand, dims);
        if (!there)
          return {};
        operands.map(operand, there);
      }
    Operation *copy = b.clone(*op, operands);
    copy->getResult(0).setType(flat(tile::elementType(value.getType())));
    return copy->getResult(0);
  }

  static bool isElementwise(Operation *op) {
    return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
           !op->getNumRegions() && isPure(op);
  }

  // Computed for all elements, of which those of `dims` are taken.
  Value ofAll(Value value, ArrayRef<Dim> dims) {
    Dims free(dims);
    for (Dim &dim : free)
      dim.fixed.reset();
    Value all = eval(value, free);
    return all ? fix(all, dims) : Value();
  }

  // True if the place of an element decides its value.
  bool isNumber(Value value) {
    if (auto known = numeric.find(value); known != numeric.end())
      return known->second;
    Operation *op = value.getDefiningOp();
    bool result =
        op && (isa<arith::ConstantOp, tile::SplatOp, tile::ArangeOp>(op) ||
               ((isa<tile::ExpandDimsOp, tile::BroadcastOp, tile::TransOp, tile::ReshapeOp>(op) ||
                 isElementwise(op)) &&
                llvm::all_of(op->getOperands(), [&](Value operand) {
                  return !tile::isTile(operand) || isNumber(operand);
                })));
    return numeric[value] = result;
  }

  // True of a number that is not the same for all elements, but is for those of `dims`.
  bool isDecided(Value number, ArrayRef<Dim> dims) {
    Dims free(dims);
    for (Dim &dim : free)
      dim.fixed.reset();
    Value all = eval(number, free), some = eval(number, dims);
    return all && some && !isSame(all) && isSame(some);
  }

  // True if a number that was computed here has one value for all elements.
  static bool isSame(Value number) {
    Operation *op = number.getDefiningOp();
    return isa<arith::ConstantOp, tile::SplatOp>(op) ||
           (!isa<tile::ArangeOp>(op) && llvm::all_of(op->getOperands(), isSame));
  }

  // The number of an element along a dimension.
  Value number(int64_t start, const Dim &dim) {
    if (dim.fixed || dim.extent == 1)
      return constant(start + dim.fixed.value_or(0));
    if (dim.extent << dim.shift > shape.back())
      return {};
    Value value = numbers();
    if (dim.shift)
      value = b.create<tile::ShRUOp>(loc, value, constant(dim.shift));
    if (dim.extent << dim.shift < shape.back())
      value = b.create<arith::AndIOp>(loc, value, constant(dim.extent - 1));
    return start ? b.create<arith::AddIOp>(loc, value, constant(start)).getResult() : value;
  }

  Value ofReshape(tile::ReshapeOp reshape, ArrayRef<Dim> dims) {
    Value source = reshape.getSource();
    auto from = tile::shapeOf(source.getType());
    if (reshape.getReorder())
      return {};
    Dims bits = bitsOf(dims);
    auto inOrder = [&] {
      for (auto [i, bit] : llvm::enumerate(bits))
        if (bit.shift != i)
          return false;
      return 1ll << bits.size() == elements;
    };
    // A tile of all elements in their order is where exchanges begin.
    if (inOrder() && isSameRow(from, shape)) {
      if (from != shape)
        source = b.create<tile::ReshapeOp>(loc, flat(tile::elementType(source.getType())), source,
                                           UnitAttr());
      takes = true;
      return fix(source, bits);
    }
    auto there = reshaped(bits, from);
    return there ? eval(source, *there) : Value();
  }

  Value ofJoin(tile::JoinOp join, ArrayRef<Dim> dims) {
    Value lhs = eval(join.getLhs(), dims.drop_back()),
          rhs = lhs ? eval(join.getRhs(), dims.drop_back()) : Value();
    Value which = rhs ? number(0, dims.back()) : Value();
    if (!which)
      return {};
    Value second =
        b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, which, constant(int64_t(0)));
    return b.create<arith::SelectOp>(loc, second, rhs, lhs);
  }

  // Two elements are combined by the region.
  Value ofReduce(tile::ReduceOp reduce, unsigned result, ArrayRef<Dim> dims) {
    unsigned axis = reduce.getAxis();
    Block &block = reduce.getCombine().front();
    auto bit = missingBit(dims);
    if (tile::shapeOf(reduce.getSources()[0].getType())[axis] != 2 || !bit)
      return {};
    IRMapping values;
    for (int64_t half : {0, 1})
      for (auto [i, source] : llvm::enumerate(reduce.getSources())) {
        Dims there(dims);
        there.insert(there.begin() + axis, Dim{2, *bit, half});
        Value value = eval(source, there);
        if (!value)
          return {};
        values.map(block.getArgument(unsigned(half) * reduce.getSources().size() + i), value);
      }
    for (Operation &op : block.without_terminator()) {
      if (auto known = dyn_cast<arith::ConstantOp>(op)) {
        values.map(known.getResult(), constant(known.getValue()));
        continue;
      }
      if (!op.hasTrait<OpTrait::Elementwise>() || op.getNumResults() != 1 || op.getNumRegions() ||
          !isPure(&op) ||
          !llvm::all_of(op.getOperands(), [&](Value operand) { return values.contains(operand); }))
        return {};
      Operation *copy = b.clone(op, values);
      copy->getResult(0).setType(flat(op.getResult(0).getType()));
      values.map(op.getResult(0), copy->getResult(0));
    }
    exchanges = true;
    return values.lookupOrNull(block.getTerminator()->getOperand(result));
  }

  OpBuilder b;
  Location loc;
  ArrayRef<int64_t> shape;
  int64_t elements;
  Value iota;
  bool exchanges = false, takes = false; // from halves; from tiles that are computed elsewhere
  llvm::DenseMap<Value, SmallVector<std::pair<Dims, Value>, 1>> memo;
  llvm::DenseMap<Value, bool> numeric;
};

} // namespace

void flattenExchanges(FunctionOpInterface kernel) {
  SmallVector<tile::ReshapeOp> roots;
  kernel->walk([&](tile::ReshapeOp reshape) {
    auto shape = tile::shapeOf(reshape.getType());
    if (!shape.empty() && shape.back() > 2 && !reshape.getReorder())
      roots.push_back(reshape);
  });
  for (tile::ReshapeOp root : roots) {
    // What was made in vain is left to the canonicalizer.
    if (Value value = Flattener(root).flatten(root))
      root.replaceAllUsesWith(value);
  }
}

} // namespace nereid::cpu
