// The text of a kernel in the making: its arrays and values, and the order of its accesses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace nereid::test {

using Shape = std::vector<int64_t>;

struct Tile {
  std::string name, element;
  Shape shape; // empty: a scalar
};

// The first four arrays are read and written by what the kernel does, in places that overlap; all
// take its final values behind them, each at a place of its own.
constexpr int64_t workElements = 4096, arrayElements = 65536;
constexpr const char *arrayElementsText[] = {"f32", "i32",  "f16",      "i8",    "i64",
                                             "i1",  "bf16", "f8E4M3FN", "f8E5M2"};
constexpr unsigned workArrays = 4, arrayCount = 9;
// Small whole numbers that nobody writes: sums of their products are exact in any order.
constexpr const char *smallElementsText[] = {"f16", "bf16", "f32", "f8E5M2"};
constexpr unsigned smallArrays = 4;
constexpr int64_t smallElements = 32768;

// What writers of ops build on.
class KernelText {
protected:
  KernelText(uint32_t seed, bool isGpu) : random(seed), isGpu(isGpu) {}

  uint32_t pick(uint32_t count) { return random() % count; }
  bool chance(uint32_t percent) { return pick(100) < percent; }

  static std::string type(const Shape &shape, const std::string &element) {
    if (shape.empty())
      return element;
    std::string out = "tensor<";
    for (int64_t extent : shape)
      out += std::to_string(extent) + "x";
    return out + element + ">";
  }
  static std::string type(const Tile &tile) { return type(tile.shape, tile.element); }

  static int64_t elements(const Shape &shape) {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    return count;
  }

  static bool isFloat(const std::string &element) { return element[0] != 'i'; }
  static bool isByteFloat(const std::string &element) { return element.starts_with("f8"); }

  static int bits(const std::string &element) {
    return std::atoi(element.c_str() + element.find_first_of("0123456789"));
  }

  // A GPU's threads see what others of the program have written behind a barrier alone, and what
  // they write may be seen early by those that are not behind one. Before each access.
  enum class Access { Read, Write };

  void touch(unsigned array, Access access) {
    unsigned bit = 1u << array;
    bool meets = (access == Access::Write ? readSince | writtenSince : writtenSince) & bit;
    if (isGpu && (meets || chance(1)))
      barrier();
    (access == Access::Write ? writtenSince : readSince) |= bit;
  }

  void barrier() {
    line("tile.barrier");
    readSince = writtenSince = 0;
  }

  // Where control flow meets, anything may have been touched that is written at all.
  void touchAll() { readSince = writtenSince = written | 1u << 6; }

  bool mayWrite(unsigned array) const { return written >> array & 1; }
  void line(const std::string &code) { text << "  " << code << "\n"; }
  std::string fresh() { return "%v" + std::to_string(next++); }

  Tile define(const Shape &shape, const std::string &element, const std::string &code) {
    Tile tile{fresh(), element, shape};
    text << "  " << tile.name << " = " << code << "\n";
    tiles.push_back(tile);
    return tile;
  }

  Tile scalar(const std::string &element, const std::string &code) {
    return define({}, element, code);
  }

  // A value of a kind, made if there is none.
  template <typename Want> const Tile *find(Want want) {
    std::vector<const Tile *> fitting;
    for (const Tile &tile : tiles)
      if (want(tile))
        fitting.push_back(&tile);
    return fitting.empty() ? nullptr : fitting[pick(fitting.size())];
  }

  // Often one of the newest: what the ops before have made.
  Tile any() {
    size_t newest = std::min<size_t>(tiles.size(), 12);
    return chance(40) ? tiles[tiles.size() - 1 - pick(newest)] : tiles[pick(tiles.size())];
  }

  Tile some(const Shape &shape, const std::string &element) {
    if (chance(30))
      for (auto tile = tiles.rbegin(); tile != tiles.rend(); ++tile)
        if (tile->shape == shape && tile->element == element)
          return *tile;
    if (const Tile *tile =
            find([&](const Tile &t) { return t.shape == shape && t.element == element; }))
      return *tile;
    return constant(shape, element);
  }

  Tile constant(const Shape &shape, const std::string &element) {
    std::string number = element == "i1"    ? (chance(50) ? "true" : "false")
                         : isFloat(element) ? std::to_string(int(pick(64)) - 32) + ".5"
                                            : std::to_string(int(pick(200)) - 100);
    if (shape.empty())
      return scalar(element, element == "i1" ? "arith.constant " + number
                                             : "arith.constant " + number + " : " + element);
    return define(shape, element, "arith.constant dense<" + number + "> : " + type(shape, element));
  }

  Tile splat(const Tile &number, const Shape &shape) {
    return define(shape, number.element,
                  "tile.splat " + number.name + " : " + number.element + " -> " +
                      type(shape, number.element));
  }

  std::string number(const std::string &element, int64_t value) {
    return scalar(element, "arith.constant " + std::to_string(value) + " : " + element).name;
  }

  void ranges() {
    for (int64_t extent : {row, int64_t(16)}) {
      Tile range =
          define({extent}, "i32",
                 "tile.arange 0 to " + std::to_string(extent) + " : " + type({extent}, "i32"));
      for (int axis : {0, 1}) {
        Shape shape = axis ? Shape{extent, 1} : Shape{1, extent};
        Tile wide = define(shape, "i32",
                           "tile.expand_dims " + range.name + " axis " + std::to_string(axis) +
                               " : " + type(range) + " -> " + type(shape, "i32"));
      }
    }
  }

  // Row-major index of each element, from a random start, so that each address occurs once.
  Tile linear(const Shape &shape) {
    int64_t count = elements(shape);
    Tile range = define({count}, "i32",
                        "tile.arange 0 to " + std::to_string(count) + " : " + type({count}, "i32"));
    Tile index = range;
    if (shape.size() == 2 && !isGpu && chance(25))
      index = downColumns(shape);
    else if (shape.size() > 1)
      index =
          define(shape, "i32",
                 "tile.reshape " + range.name + " : " + type(range) + " -> " + type(shape, "i32"));
    if (chance(30)) { // backwards
      Tile last =
          define(shape, "i32",
                 "arith.constant dense<" + std::to_string(count - 1) + "> : " + type(shape, "i32"));
      index = define(shape, "i32",
                     "arith.subi " + last.name + ", " + index.name + " : " + type(shape, "i32"));
    }
    Tile start = define(shape, "i32",
                        "arith.constant dense<" +
                            std::to_string(isAligned && chance(50) ? 16 * pick(3) : pick(40)) +
                            "> : " + type(shape, "i32"));
    return define(shape, "i32",
                  "arith.addi " + index.name + ", " + start.name + " : " + type(shape, "i32"));
  }

  // Row + column * rows: neighbours lie below each other.
  Tile downColumns(const Shape &shape) {
    auto along = [&](unsigned axis) {
      Shape one = {1, 1};
      one[axis] = shape[axis];
      Tile range = define({shape[axis]}, "i32",
                          "tile.arange 0 to " + std::to_string(shape[axis]) + " : " +
                              type({shape[axis]}, "i32"));
      Tile line = define(one, "i32",
                         "tile.expand_dims " + range.name + " axis " + std::to_string(1 - axis) +
                             " : " + type(range) + " -> " + type(one, "i32"));
      return define(shape, "i32",
                    "tile.broadcast " + line.name + " : " + type(line) + " -> " +
                        type(shape, "i32"));
    };
    Tile rows = along(0), columns = along(1);
    Tile count =
        define(shape, "i32",
               "arith.constant dense<" + std::to_string(shape[0]) + "> : " + type(shape, "i32"));
    Tile apart =
        define(shape, "i32",
               "arith.muli " + columns.name + ", " + count.name + " : " + type(shape, "i32"));
    return define(shape, "i32",
                  "arith.addi " + rows.name + ", " + apart.name + " : " + type(shape, "i32"));
  }

  std::string pointers(unsigned array, const Tile &offsets, Access access) {
    touch(array, access);
    if (access == Access::Read && offsets.element == "i32" && chance(6))
      return bytePlaces(array, offsets);
    return pointersTo("%p" + std::to_string(array), arrayElementsText[array], offsets);
  }

  // Offsets of a byte without sign, of which some wrap around to the start of the array.
  std::string bytePlaces(unsigned array, const Tile &offsets) {
    std::string bytes = type(offsets.shape, "i8");
    Tile narrow = define(offsets.shape, "i8",
                         "arith.trunci " + offsets.name + " : " + type(offsets) + " to " + bytes);
    Tile start =
        define(offsets.shape, "i8",
               "arith.constant dense<" + std::to_string(int(pick(256)) - 128) + "> : " + bytes);
    Tile moved = define(offsets.shape, "i8",
                        "arith.addi " + narrow.name + ", " + start.name + " : " + bytes);
    return placed("%p" + std::to_string(array), arrayElementsText[array], moved, " unsigned");
  }

  std::string pointersTo(const std::string &base, const std::string &element, const Tile &offsets) {
    if (offsets.element == "i32" && chance(8))
      return farPlaces(base, element, offsets);
    return placed(base, element, offsets, "");
  }

  // Far behind a pointer that is as far in front of the array: offsets without sign, of which all
  // or the last ones would be negative with one.
  std::string farPlaces(const std::string &base, const std::string &element, const Tile &offsets) {
    const int64_t most = int64_t(1) << 32,
                  starts[] = {most - 2 * arrayElements, most / 2, most / 2 - 16, most / 2 - 5};
    int64_t start = starts[pick(4)];
    std::string far = fresh(), before = fresh(), pointer = "!tile.ptr<" + element + ">";
    text << "  " << far << " = arith.constant " << -start << " : i64\n  " << before
         << " = tile.addptr " << base << ", " << far << " : " << pointer << ", i64\n";
    Tile by =
        define(offsets.shape, "i32",
               "arith.constant dense<" + std::to_string(int32_t(start)) + "> : " + type(offsets));
    Tile moved = define(offsets.shape, "i32",
                        "arith.addi " + offsets.name + ", " + by.name + " : " + type(offsets));
    return placed(before, element, moved, " unsigned");
  }

  std::string placed(const std::string &base, const std::string &element, const Tile &offsets,
                     const char *sign) {
    std::string pointer = "!tile.ptr<" + element + ">";
    std::string splat = fresh(), sum = fresh();
    std::string types = type(offsets.shape, pointer);
    text << "  " << splat << " = tile.splat " << base << " : " << pointer << " -> " << types
         << "\n  " << sum << " = tile.addptr " << splat << ", " << offsets.name << sign << " : "
         << types << ", " << type(offsets) << "\n";
    return sum;
  }

  std::string mask(const Shape &shape) {
    return " mask " + some(shape, "i1").name + " : " + type(shape, "i1");
  }

  // A mask that cuts off the end of each row: a count, perhaps one that wraps around, compared with
  // a number that is the same along the row.
  Tile prefix(const Shape &shape) {
    int64_t extent = shape.back();
    Tile range =
        define({extent}, "i32",
               "tile.arange 0 to " + std::to_string(extent) + " : " + type({extent}, "i32"));
    const char *starts[] = {"0", "-20", "7", "2147483600", "-2147483648"};
    Tile start = define({extent}, "i32",
                        std::string("arith.constant dense<") + starts[chance(60) ? 0 : pick(5)] +
                            "> : " + type({extent}, "i32"));
    Tile count = define({extent}, "i32",
                        "arith.addi " + range.name + ", " + start.name + " : " + type(range));
    Tile number = chance(70)
                      ? scalar("i32", "arith.constant " +
                                          std::to_string(int(pick(extent + 40)) - 20) + " : i32")
                      : some({}, "i32");
    std::string limit = "tile.splat " + number.name + " : i32 -> ";
    if (shape.size() == 2) { // the limit may differ from row to row
      count = define({1, extent}, "i32",
                     "tile.expand_dims " + count.name + " axis 0 : " + type(count) + " -> " +
                         type({1, extent}, "i32"));
      count = define(shape, "i32",
                     "tile.broadcast " + count.name + " : " + type(count) + " -> " +
                         type(shape, "i32"));
    }
    Tile bound = define(shape, "i32", limit + type(shape, "i32"));
    if (shape.size() == 2 && chance(50)) {
      Tile rows =
          define({shape[0]}, "i32",
                 "tile.arange 0 to " + std::to_string(shape[0]) + " : " + type({shape[0]}, "i32"));
      rows = define({shape[0], 1}, "i32",
                    "tile.expand_dims " + rows.name + " axis 1 : " + type(rows) + " -> " +
                        type({shape[0], 1}, "i32"));
      rows =
          define(shape, "i32",
                 "tile.broadcast " + rows.name + " : " + type(rows) + " -> " + type(shape, "i32"));
      bound =
          define(shape, "i32", "arith.addi " + bound.name + ", " + rows.name + " : " + type(rows));
    }
    const char *less[] = {"slt", "sle", "ult", "ule"}, *greater[] = {"sgt", "sge", "ugt", "uge"};
    unsigned which = chance(60) ? 0 : pick(4);
    return chance(70) ? define(shape, "i1",
                               std::string("arith.cmpi ") + less[which] + ", " + count.name + ", " +
                                   bound.name + " : " + type(shape, "i32"))
                      : define(shape, "i1",
                               std::string("arith.cmpi ") + greater[which] + ", " + bound.name +
                                   ", " + count.name + " : " + type(shape, "i32"));
  }

  // A tile of an array at random places that do not repeat.
  Tile loaded(const Shape &shape, unsigned array) {
    std::string element = arrayElementsText[array];
    std::string where = pointers(array, linear(shape), Access::Read);
    return define(shape, element,
                  "tile.load " + where + " : " + type(shape, "!tile.ptr<" + element + ">") +
                      " -> " + type(shape, element));
  }

  // One array more often than the others, so that loads and stores meet.
  unsigned workArray() { return chance(60) ? 1 : pick(workArrays); }

  unsigned writtenArray() {
    unsigned array = workArray();
    while (!mayWrite(array))
      array = (array + 1) % workArrays;
    return array;
  }

  // Stores a final value where no other one is.
  void keep(const Tile &tile) {
    unsigned array = 0;
    while (array < arrayCount && arrayElementsText[array] != tile.element)
      ++array;
    if (array == arrayCount)
      return;
    int64_t count = elements(tile.shape);
    if (kept[array] + count > arrayElements)
      return;
    std::string pointer = std::string("!tile.ptr<") + arrayElementsText[array] + ">";
    std::string base = fresh(), at = fresh();
    text << "  " << at << " = arith.constant " << kept[array] << " : i32\n  " << base
         << " = tile.addptr %p" << array << ", " << at << " : " << pointer << ", i32\n";
    kept[array] += count;
    if (tile.shape.empty()) {
      text << "  tile.store " << base << ", " << tile.name << " : " << pointer << ", "
           << tile.element << "\n";
      return;
    }
    Tile range = define({count}, "i32",
                        "tile.arange 0 to " + std::to_string(count) + " : " + type({count}, "i32"));
    std::string index = range.name;
    if (tile.shape.size() > 1)
      index = define(tile.shape, "i32",
                     "tile.reshape " + range.name + " : " + type(range) + " -> " +
                         type(tile.shape, "i32"))
                  .name;
    std::string types = type(tile.shape, pointer), splat = fresh(), sum = fresh();
    text << "  " << splat << " = tile.splat " << base << " : " << pointer << " -> " << types
         << "\n  " << sum << " = tile.addptr " << splat << ", " << index << " : " << types << ", "
         << type(tile.shape, "i32") << "\n  tile.store " << sum << ", " << tile.name << " : "
         << types << ", " << type(tile) << "\n";
  }

  // How often a loop runs: a number that is known, or one that is not.
  Tile trips() {
    if (chance(60))
      return scalar("i32", "arith.constant " + std::to_string(pick(7)) + " : i32");
    Tile bound = scalar("i32", "arith.constant " + std::to_string(1 + pick(7)) + " : i32");
    return scalar("i32", "tile.remui " + (chance(50) ? "%n" : some({}, "i32").name) + ", " +
                             bound.name + " : i32");
  }

  // Combines that give the same bits in any grouping.
  std::string combine(const std::string &element, bool ordered) {
    std::string e = element;
    std::string code = " {\n  ^bb0(%l: " + e + ", %r: " + e + "):\n";
    if (ordered)
      return code + "    tile.yield %r : " + e + "\n  }\n";
    std::string op = isFloat(e) ? "arith.maxnumf" : chance(50) ? "arith.addi" : "arith.xori";
    return code + "    %c = " + op + " %l, %r : " + e + "\n    tile.yield %c : " + e + "\n  }\n";
  }

  // A descriptor of 2-D memory in an array, larger or smaller than its block.
  std::string descriptor(unsigned array, const Shape &block) {
    std::string element = arrayElementsText[array], made = fresh();
    std::string rows = number("i64", 1 + pick(20)), columns = number("i64", 1 + pick(40)),
                stride = number("i64", 64), one = number("i64", 1);
    line(made + " = tile.make_desc %p" + std::to_string(array) + ", [" + rows + ", " + columns +
         "], [" + stride + ", " + one + "] : !tile.ptr<" + element + "> -> " +
         descriptorType(block, element));
    return made;
  }

  static std::string descriptorType(const Shape &block, const std::string &element) {
    return "!tile.desc<" + std::to_string(block[0]) + "x" + std::to_string(block[1]) + "x" +
           element + ">";
  }

  // Values defined inside are not seen outside.
  template <typename Body> void scoped(Body body) {
    std::vector<Tile> outer = tiles;
    body();
    tiles = outer;
  }

  // The same for what may not run, or run again.
  template <typename Body> void inRegion(Body body) {
    touchAll();
    scoped(body);
    touchAll();
  }

  std::mt19937 random;
  bool isGpu, isAligned = false;
  unsigned written = (1u << workArrays) - 1, readSince = 0, writtenSince = 0; // bits of arrays
  std::ostringstream text;
  std::vector<Tile> tiles;
  unsigned next = 0;
  int64_t row = 64; // lanes of most tiles
  Shape wide = {16, 4};
  bool inWhile = false;
  int64_t kept[arrayCount] = {workElements, workElements, workElements, workElements, 0, 0,
                              workElements, workElements, workElements};
};

} // namespace nereid::test
