// Values of the vocabulary that are neither numbers nor tiles: what iterators, block pointers and
// enumerations are while a kernel is compiled.
#pragma once

#include "ops/Value.h"

namespace nereid::ops {

/// What `tl.range` and `tl.static_range` give; only a `for` loop can use it.
struct RangeValue : Object {
  RangeValue() : Object(Kind::Host) {}
  std::string typeName() const override { return isStatic ? "static_range" : "range"; }

  Value start = 0, stop, step = 1; ///< numbers or scalar tiles; numbers if `isStatic`
  bool isStatic = false;           ///< unrolled while compiling
  Value numStages;                 ///< an int, or None
  Value loopUnrollFactor;          ///< an int, or None
  bool disallowAccMultiBuffer = false, flatten = false, warpSpecialize = false;
  bool disableLicm = false;
};

/// What `tl.condition` gives; only a `while` loop can use it.
struct ConditionValue : Object {
  ConditionValue() : Object(Kind::Host) {}
  std::string typeName() const override { return "condition"; }

  Value condition;
  bool disableLicm = false;
};

/// A member of an enumeration, such as `tl.PropagateNan.ALL`. Two are equal if their names are.
struct EnumMember : Object {
  explicit EnumMember(std::string name) : Object(Kind::Host), name(std::move(name)) {}
  std::string typeName() const override { return name.substr(0, name.find('.')); }
  std::string repr() const override { return name; }
  bool equals(const Object &other) const override {
    auto *member = dynamic_cast<const EnumMember *>(&other);
    return member && member->name == name;
  }
  std::string name; ///< "PropagateNan.ALL"
};

/// An enumeration, whose members are its attributes: `tl.PropagateNan`.
struct EnumClass : Object {
  EnumClass(std::string name, std::vector<std::string> members)
      : Object(Kind::Host), name(std::move(name)), members(std::move(members)) {}
  std::string typeName() const override { return "EnumType"; }
  std::string repr() const override { return "<enum '" + name + "'>"; }
  std::string name;
  std::vector<std::string> members;
};

/// A block of a parent tensor in memory (`tl.make_block_ptr`). An aggregate of scalars: loads and
/// stores turn it into pointers and a mask.
struct BlockPointer : Aggregate {
  std::string typeName() const override { return "block_ptr"; }
  std::string repr() const override { return type().str(); }
  std::vector<Tile> tiles() const override;
  Value withTiles(std::span<const Tile> tiles) const override;
  bool sameShape(const Aggregate &other) const override;
  /// `pointer<<['64', '32'], fp16>>`, as Triton types it.
  Type type() const { return Type::pointer(Type::block(blockShape, base.type.pointee())); }

  Tile base;                                 ///< a scalar pointer
  std::vector<Tile> shape, strides, offsets; ///< int64 scalars, one a dimension
  std::vector<int64_t> blockShape;
};

} // namespace nereid::ops
