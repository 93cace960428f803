// Random products: of all operand types, with masks that cut them off.
#pragma once

#include "KernelOps.h"

#include <optional>

namespace nereid::test {

// Writes products, and loops around them.
class ProductWriter : public OpWriter {
protected:
  using OpWriter::OpWriter;

  // A tile of small numbers, perhaps loaded as its transpose.
  Tile small(unsigned array, const Shape &shape) {
    Shape stored = shape;
    bool isTurned = shape.size() > 1 && chance(40);
    if (isTurned)
      std::swap(stored[stored.size() - 1], stored[stored.size() - 2]);
    std::string element = smallElementsText[array];
    std::string where = pointersTo("%q" + std::to_string(array), element, linear(stored));
    Tile tile = define(stored, element,
                       "tile.load " + where + " : " + type(stored, "!tile.ptr<" + element + ">") +
                           " -> " + type(stored, element));
    return isTurned ? transposed(tile) : tile;
  }

  Tile transposed(const Tile &tile) {
    Shape shape = tile.shape;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return define(shape, tile.element,
                  "tile.trans " + tile.name + (shape.size() == 2 ? " [1, 0]" : " [0, 2, 1]") +
                      " : " + type(tile) + " -> " + type(shape, tile.element));
  }

  // How operands of f32 enter a product, all the same for small numbers.
  std::string precision(const std::string &element) {
    const char *ways[] = {"tf32", "ieee", "tf32x3", "bf16x3", "bf16x6"};
    return element == "f32" ? std::string(" precision <") + ways[pick(5)] + ">" : "";
  }

  Tile dot(const Tile &a, const Tile &b, const Tile &acc) {
    return define(acc.shape, acc.element,
                  "tile.dot " + a.name + ", " + b.name + ", " + acc.name + precision(a.element) +
                      " : " + type(a) + ", " + type(b) + " -> " + type(acc));
  }

  Tile converted(const Tile &tile, const std::string &op, const std::string &to) {
    return define(tile.shape, to,
                  op + " " + tile.name + " : " + type(tile) + " to " + type(tile.shape, to));
  }

  // Of bytes, also as numbers of other types: the sums are exact in any order.
  void product() {
    const int64_t extents[] = {1, 2, 4, 8, 16, 32};
    int64_t m = extents[pick(6)], n = extents[pick(6)], k = extents[1 + pick(5)];
    const char *numbers[] = {"i8", "i8", "f32", "f16"};
    std::string element = numbers[pick(4)], sum = element == "i8" ? "i32" : "f32";
    auto operand = [&](const Shape &shape, const std::string &as) {
      bool turned = chance(40);
      Tile tile = loaded(turned ? Shape{shape[1], shape[0]} : shape, 3);
      if (turned)
        tile = define(shape, "i8",
                      "tile.trans " + tile.name + " [1, 0] : " + type(tile) + " -> " +
                          type(shape, "i8"));
      if (as == "i8")
        return tile;
      return define(shape, as,
                    (as == "i32" ? "arith.extsi " : "arith.sitofp ") + tile.name + " : " +
                        type(tile) + " to " + type(shape, as));
    };
    Tile a = operand({m, k}, element), b = operand({k, n}, element), acc = operand({m, n}, sum);
    if (chance(30) && sum == "i32")
      acc = some({m, n}, "i32");
    std::string isUnsigned = element == "i8" && chance(40) ? " unsigned" : "";
    define({m, n}, sum,
           "tile.dot " + a.name + ", " + b.name + ", " + acc.name + isUnsigned + " : " + type(a) +
               ", " + type(b) + " -> " + type(acc));
  }

  void smallProduct() {
    const int64_t extents[] = {4, 8, 16, 32, 64};
    int64_t m = extents[pick(5)], n = extents[pick(5)], k = extents[1 + pick(4)];
    unsigned array = pick(smallArrays);
    bool isBatch = chance(25);
    if (isBatch)
      m = std::min<int64_t>(m, 16), n = std::min<int64_t>(n, 16);
    auto shape = [&](int64_t rows, int64_t columns) {
      return isBatch ? Shape{2, rows, columns} : Shape{rows, columns};
    };
    Tile a = small(array, shape(m, k)), b = small(array, shape(k, n));
    std::string sum = "f32";
    if (array == 2 && chance(30)) {
      a = converted(a, "arith.extf", "f64");
      b = converted(b, "arith.extf", "f64");
      sum = "f64";
    }
    Tile acc = constant(shape(m, n), sum);
    Tile result = dot(a, b, acc);
    if (sum == "f64")
      converted(result, "arith.truncf", "f32");
  }

  // --- products of which masks cut off rows, columns and K ---

  // Before what a mask ends: a number that is known, or one that is not.
  Tile limit(int64_t extent) {
    return chance(85) ? scalar("i32", "arith.constant " +
                                          std::to_string(int(pick(extent + 16)) - 8) + " : i32")
                      : some({}, "i32");
  }
  // True before `limit` along `axis`.
  Tile before(const Shape &shape, unsigned axis, const Tile &limit) {
    int64_t extent = shape[axis];
    Shape line = axis ? Shape{1, extent} : Shape{extent, 1};
    Tile index =
        define({extent}, "i32",
               "tile.arange 0 to " + std::to_string(extent) + " : " + type({extent}, "i32"));
    index = define(line, "i32",
                   "tile.expand_dims " + index.name + " axis " + std::to_string(1 - axis) + " : " +
                       type(index) + " -> " + type(line, "i32"));
    Tile bound = define(line, "i32", "tile.splat " + limit.name + " : i32 -> " + type(line, "i32"));
    Tile in = define(line, "i1",
                     "arith.cmpi slt, " + index.name + ", " + bound.name + " : " + type(index));
    return define(shape, "i1",
                  "tile.broadcast " + in.name + " : " + type(in) + " -> " + type(shape, "i1"));
  }
  // Where a block of a descriptor begins, perhaps outside.
  std::string place() {
    return "[" + number("i32", int(pick(12)) - 4) + ", " + number("i32", int(pick(12)) - 4) + "]";
  }
  // Bytes as `element`, cut off before `limit` along `axis`.
  Tile raggedOperand(const std::string &element, const Shape &shape, unsigned axis,
                     const Tile &limit) {
    Tile tile = raggedBytes(shape, axis, limit);
    return element == "i8" ? tile
                           : define(shape, element,
                                    "arith.sitofp " + tile.name + " : " + type(tile) + " to " +
                                        type(shape, element));
  }
  Tile raggedBytes(const Shape &shape, unsigned axis, const Tile &limit) {
    if (chance(25)) {
      std::string made = descriptor(3, shape), at = place();
      touch(3, Access::Read);
      return define(shape, "i8",
                    "tile.desc_load " + made + at + " : " + descriptorType(shape, "i8") + " -> " +
                        type(shape, "i8"));
    }
    std::string where = pointers(3, linear(shape), Access::Read), options;
    if (chance(90)) {
      Tile in = before(shape, axis, limit);
      options = " mask " + in.name + " : " + type(in);
      if (chance(40)) {
        Tile other = define(shape, "i8",
                            std::string("arith.constant dense<") + (chance(80) ? "0" : "3") +
                                "> : " + type(shape, "i8"));
        options += " other " + other.name + " : " + type(other);
      }
    }
    return define(shape, "i8",
                  "tile.load " + where + options + " : " + type(shape, "!tile.ptr<i8>") + " -> " +
                      type(shape, "i8"));
  }

  // What a product's masks look at.
  struct Ragged {
    int64_t m, n, k;
    std::string element, sum;
    Tile depth, rows, columns;                             // limits of K, M and N
    unsigned sums() const { return sum == "i32" ? 1 : 0; } // the array
  };
  Tile raggedDot(const Ragged &of, const std::string &acc) {
    Tile a = raggedOperand(of.element, {of.m, of.k}, 1, of.depth),
         b = raggedOperand(of.element, {of.k, of.n}, 0, chance(80) ? of.depth : limit(of.k));
    return define({of.m, of.n}, of.sum,
                  "tile.dot " + a.name + ", " + b.name + ", " + acc +
                      (of.element == "i8" && chance(40) ? " unsigned" : "") + " : " + type(a) +
                      ", " + type(b) + " -> " + type({of.m, of.n}, of.sum));
  }
  // The product summed over the rounds of a loop.
  Tile raggedSum(const Ragged &of, const Tile &start) {
    Shape shape = {of.m, of.n};
    std::string i = fresh(), carried = fresh(), results = fresh(), tile = type(shape, of.sum);
    Tile lower = scalar("i32", "arith.constant 0 : i32"),
         upper = scalar("i32", "arith.constant " + std::to_string(pick(4)) + " : i32"),
         step = scalar("i32", "arith.constant 1 : i32");
    line(results + " = scf.for " + i + " = " + lower.name + " to " + upper.name + " step " +
         step.name + " iter_args(" + carried + " = " + start.name + ") -> (" + tile + ") : i32 {");
    inRegion([&] {
      // Each round may look at what the one before left, further than the last one does.
      if (mayWrite(of.sums()) && chance(30)) {
        tiles.push_back({i, "i32", {}});
        Tile in = before(shape, 0, chance(50) ? Tile{i, "i32", {}} : of.rows);
        line("tile.store " + pointers(of.sums(), linear(shape), Access::Write) + ", " + carried +
             " mask " + in.name + " : " + type(in) + " : " +
             type(shape, "!tile.ptr<" + of.sum + ">") + ", " + tile);
      }
      line("scf.yield " + raggedDot(of, carried).name + " : " + tile);
    });
    line("}");
    return {results, of.sum, shape};
  }
  void storeRagged(const Ragged &of, const Tile &result) {
    Shape shape = {of.m, of.n};
    if (chance(25)) {
      std::string made = descriptor(of.sums(), shape), at = place();
      touch(of.sums(), Access::Write);
      line("tile.desc_store " + made + at + ", " + result.name + " : " +
           descriptorType(shape, of.sum) + ", " + type(result));
      return;
    }
    std::string options;
    if (chance(90)) {
      Tile in = before(shape, chance(50), chance(50) ? of.rows : of.columns);
      if (chance(70)) {
        Tile other = before(shape, 1, of.columns);
        in = define(shape, "i1", "arith.andi " + in.name + ", " + other.name + " : " + type(in));
      }
      options = " mask " + in.name + " : " + type(in);
    }
    line("tile.store " + pointers(of.sums(), linear(shape), Access::Write) + ", " + result.name +
         options + " : " + type(shape, "!tile.ptr<" + of.sum + ">") + ", " + type(result));
  }

  void raggedProduct() {
    std::optional<Tile> left;
    scoped([&] {
      const int64_t extents[] = {8, 16, 32, 64};
      int64_t m = extents[pick(4)], n = extents[pick(4)], k = extents[pick(4)];
      const char *numbers[] = {"i8", "f32", "f16", "f32"};
      std::string element = numbers[pick(4)], sum = element == "i8" ? "i32" : "f32";
      Tile depth = limit(k), rows = limit(m), columns = limit(n);
      Ragged of{m, n, k, element, sum, depth, rows, columns};
      Tile result = constant({m, n}, sum);
      result = chance(50) ? raggedSum(of, result) : raggedDot(of, result.name);
      if (chance(50))
        result = define({m, n}, sum,
                        (sum == "i32" ? "arith.addi " : "arith.addf ") + result.name + ", " +
                            constant({m, n}, sum).name + " : " + type(result));
      if (mayWrite(of.sums()))
        storeRagged(of, result);
      else
        left = result;
    });
    if (left)
      tiles.push_back(*left);
  }
};

} // namespace nereid::test
