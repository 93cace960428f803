// Random kernels in tile IR, for engines that are compared with the reference interpreter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
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

// Writes a well-formed kernel, one random op after the other.
class KernelWriter {
public:
  /// Gpu: barriers stand where threads of a program exchange values by way of memory, as the
  /// language wants it there.
  enum class Kind { Any, Gpu };
  KernelWriter(uint32_t seed, Kind kind) : random(seed), isGpu(kind == Kind::Gpu) {}

  std::string kernel() {
    // Long enough that the next row is fetched ahead.
    if (chance(8))
      row = 512;
    isAligned = chance(60);
    const Shape wides[] = {{32, 32}, {64, 16}, {8, 64}, {4, 128}, {128, 8}};
    if (chance(35))
      wide = wides[pick(5)];
    // What is only read may be read ahead of time.
    if (isGpu)
      written = 1 + pick((1 << workArrays) - 1);
    scalar("i32", "arith.constant " + std::to_string(int(pick(100)) - 50) + " : i32");
    scalar("i32", "tile.program_id 0");
    ranges();
    // Most are short, which costs a third; in long ones more meets.
    bool isLong = chance(40);
    // Something of every type to begin with, or of some.
    for (unsigned array : {0u, 2u, 3u, 6u, 7u + pick(2)})
      if (isLong || chance(40))
        loaded(chance(50) ? Shape{row} : wide, array);
    // What GPUs have most code for.
    if (isGpu && chance(40))
      steps();
    block(isLong ? 6 + pick(14) : 2 + pick(6), 0);
    if (isGpu && chance(20))
      chance(60) ? steps() : rows();
    if (isGpu && chance(15))
      again();
    // What is left unused would be dropped before it is tested; of the rest a few are looked at.
    std::map<std::string, unsigned> mentions;
    std::string code = text.str();
    for (size_t at = 0; (at = code.find('%', at)) != std::string::npos;) {
      size_t end = at + 1;
      while (std::isalnum(code[end]) || code[end] == '#')
        ++end;
      ++mentions[code.substr(at, end - at)];
      at = end;
    }
    // What is kept lies where some loads have looked.
    if (isGpu)
      barrier();
    std::vector<Tile> last = tiles;
    for (const Tile &tile : last)
      if (mentions[tile.name] <= (tile.name.find('#') == std::string::npos) || chance(15))
        keep(tile);
    std::string parameters;
    for (unsigned i = 0; i < arrayCount; ++i)
      parameters += "%p" + std::to_string(i) + ": !tile.ptr<" + arrayElementsText[i] + ">" +
                    (isAligned ? " {tile.divisibility = 16 : i64}, " : ", ");
    for (unsigned i = 0; i < smallArrays; ++i)
      parameters += "%q" + std::to_string(i) + ": !tile.ptr<" + smallElementsText[i] + ">" +
                    (isAligned ? " {tile.divisibility = 16 : i64}, " : ", ");
    return "func.func @k(" + parameters + "%n: i32) attributes {tile.kernel} {\n" + text.str() +
           "  return\n}\n";
  }

private:
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

  // --- the order of memory accesses ---

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
    return pointersTo("%p" + std::to_string(array), arrayElementsText[array], offsets);
  }
  std::string pointersTo(const std::string &base, const std::string &element, const Tile &offsets) {
    std::string pointer = "!tile.ptr<" + element + ">";
    std::string splat = fresh(), sum = fresh();
    std::string types = type(offsets.shape, pointer);
    text << "  " << splat << " = tile.splat " << base << " : " << pointer << " -> " << types
         << "\n  " << sum << " = tile.addptr " << splat << ", " << offsets.name << " : " << types
         << ", " << type(offsets) << "\n";
    return sum;
  }
  std::string mask(const Shape &shape) {
    return " mask " + some(shape, "i1").name + " : " + type(shape, "i1");
  }

  void load() {
    Shape shape = any().shape;
    if (shape.empty())
      shape = {32};
    unsigned array = workArray();
    Tile offsets = linear(shape);
    if (chance(30)) { // anywhere
      Tile value = some(shape, "i32");
      Tile bound = define(shape, "i32",
                          "arith.constant dense<" + std::to_string(workElements) +
                              "> : " + type(shape, "i32"));
      offsets = define(shape, "i32",
                       "tile.remui " + value.name + ", " + bound.name + " : " + type(shape, "i32"));
    }
    std::string where = pointers(array, offsets, Access::Read), element = arrayElementsText[array];
    std::string options;
    if (chance(50)) {
      options = mask(shape);
      if (chance(50)) {
        Tile other = some(shape, element);
        options += " other " + other.name + " : " + type(other);
      }
    }
    const char *hints[] = {" cache <ca>",          " cache <cg>",         " cache <cv>",
                           " evict <evict_first>", " evict <evict_last>", " volatile"};
    if (chance(12))
      options += hints[pick(inWhile ? 5 : 6)]; // programs that wait run in turns
    define(shape, element,
           "tile.load " + where + options + " : " + type(shape, "!tile.ptr<" + element + ">") +
               " -> " + type(shape, element));
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

  // What row kernels are made of: loads, reductions and stores under masks that cut off rows.
  void ragged() {
    const Shape shapes[] = {{256}, {128}, {512}, {4, 128}, {2, 256}};
    Shape shape = shapes[pick(5)];
    unsigned array = workArray();
    std::string element = arrayElementsText[array];
    Tile in = prefix(shape);
    if (chance(25)) {
      Tile other = prefix(shape);
      in = define(shape, "i1",
                  "arith.andi " + in.name + ", " + other.name + " : " + type(shape, "i1"));
    }
    std::string pointer = type(shape, "!tile.ptr<" + element + ">"), tile = type(shape, element);
    std::string masked = " mask " + in.name + " : " + type(in);
    Tile rest = constant(shape, element);
    Tile x = define(shape, element,
                    "tile.load " + pointers(array, linear(shape), Access::Read) + masked +
                        (chance(60) ? " other " + rest.name + " : " + tile : "") + " : " + pointer +
                        " -> " + tile);
    if (chance(50))
      x = define(shape, element,
                 (isFloat(element) ? "arith.mulf " : "arith.muli ") + x.name + ", " +
                     some(shape, element).name + " : " + tile);
    if (chance(50))
      x = define(shape, element,
                 "arith.select " + in.name + ", " + x.name + ", " + some(shape, element).name +
                     " : " + type(in) + ", " + tile);
    unsigned axis = shape.size() - 1;
    Shape outer(shape.begin(), shape.end() - 1);
    if (chance(70))
      define(outer, element,
             "tile.reduce(" + x.name + ") axis " + std::to_string(axis) + " : (" + tile + ") -> " +
                 type(outer, element) + combine(element, chance(10)));
    if (mayWrite(array) && chance(60)) {
      std::string where = pointers(array, linear(shape), Access::Write);
      line("tile.store " + where + ", " + x.name + (chance(80) ? masked : "") + " : " + pointer +
           ", " + tile);
    }
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

  void store() {
    unsigned array = writtenArray();
    std::string element = arrayElementsText[array];
    // Of the values that fit, mostly the newest.
    const Tile *value = nullptr;
    for (const Tile &tile : tiles)
      if (tile.element == element && !tile.shape.empty() && (!value || chance(70)))
        value = &tile;
    Tile source = value ? *value : some({row}, element);
    std::string where = pointers(array, linear(source.shape), Access::Write);
    std::string options = chance(40) ? mask(source.shape) : "";
    text << "  tile.store " << where << ", " << source.name << options << " : "
         << type(source.shape, "!tile.ptr<" + element + ">") << ", " << type(source) << "\n";
  }

  void elementwise() {
    Tile a = any();
    Tile b = chance(30) ? constant(a.shape, a.element) : some(a.shape, a.element);
    std::string types = " : " + type(a);
    auto binary = [&](const std::string &op) {
      define(a.shape, a.element, op + " " + a.name + ", " + b.name + types);
    };
    if (chance(15)) {
      Tile condition = some(a.shape, "i1");
      std::string head = a.shape.empty() ? types : " : " + type(condition) + ", " + type(a);
      define(a.shape, a.element,
             "arith.select " + condition.name + ", " + a.name + ", " + b.name + head);
    } else if (isByteFloat(a.element)) {
      const char *wider[] = {"f16", "bf16", "f32"};
      convert(a, wider[pick(3)]);
    } else if (isFloat(a.element)) {
      const char *ops[] = {"arith.addf", "arith.subf",    "arith.mulf",
                           "arith.divf", "arith.maxnumf", "arith.minimumf"};
      if (chance(20))
        define(a.shape, "i1",
               "arith.cmpf " + std::string(chance(50) ? "olt" : "une") + ", " + a.name + ", " +
                   b.name + types);
      else if (chance(20))
        define(a.shape, a.element, (chance(50) ? "math.absf " : "math.floor ") + a.name + types);
      else
        binary(ops[pick(6)]);
    } else if (a.element == "i1") {
      const char *ops[] = {"arith.andi", "arith.ori", "arith.xori"};
      binary(ops[pick(3)]);
    } else {
      const char *ops[] = {"arith.addi", "arith.subi", "arith.muli",  "arith.andi",
                           "arith.ori",  "arith.xori", "arith.maxsi", "arith.minui",
                           "tile.divsi", "tile.divui", "tile.remsi",  "tile.remui",
                           "tile.shl",   "tile.shrs",  "tile.shru",   "tile.mulhiui"};
      const char *compares[] = {"slt", "uge", "eq", "sgt", "ule"};
      if (chance(25))
        define(a.shape, "i1",
               "arith.cmpi " + std::string(compares[pick(5)]) + ", " + a.name + ", " + b.name +
                   types);
      else
        binary(ops[pick(16)]);
    }
  }

  // Float to float, where one of them has 8 bits or the rounding is stated.
  void convert(const Tile &a, const std::string &to, const std::string &rounding = "") {
    define(a.shape, to,
           "tile.fp_convert " + a.name + rounding + " : " + type(a) + " -> " + type(a.shape, to));
  }

  void cast() {
    Tile a = any();
    const char *targets[] = {"i8",  "i16",  "i32",      "i64",    "f16",
                             "f32", "bf16", "f8E4M3FN", "f8E5M2", "f64"};
    std::string to = targets[pick(10)];
    if (to == a.element)
      return;
    bool fromFloat = isFloat(a.element), toFloat = isFloat(to);
    std::string op;
    if (isByteFloat(a.element) || isByteFloat(to)) {
      if (fromFloat && toFloat && a.element != "f64" && to != "f64" &&
          isByteFloat(a.element) != isByteFloat(to))
        convert(a, to);
      return;
    }
    if (fromFloat && toFloat && bits(to) == bits(a.element))
      return; // by way of f32
    if (a.element == "f32" && toFloat && bits(to) == 16 && chance(40))
      return convert(a, to, " rounding <rtz>");
    if (fromFloat && toFloat)
      op = bits(to) > bits(a.element) ? "arith.extf" : "arith.truncf";
    else if (fromFloat)
      return void(define(a.shape, to,
                         "tile.fp_to_int " + a.name + (chance(50) ? " unsigned" : "") + " : " +
                             type(a) + " -> " + type(a.shape, to)));
    else if (toFloat)
      op = a.element == "i1" || chance(50) ? "arith.uitofp" : "arith.sitofp";
    else
      op = bits(to) < bits(a.element) ? "arith.trunci" : chance(50) ? "arith.extui" : "arith.extsi";
    define(a.shape, to, op + " " + a.name + " : " + type(a) + " to " + type(a.shape, to));
  }

  void reshape() {
    Tile a = any();
    if (a.shape.empty()) {
      Shape shape = chance(50) ? Shape{row} : wide;
      define(shape, a.element,
             "tile.splat " + a.name + " : " + type(a) + " -> " + type(shape, a.element));
      return;
    }
    switch (pick(9)) {
    case 6: { // three dimensions
      int64_t count = elements(a.shape);
      if (count < 8)
        break;
      Shape shapes[] = {{2, count / 8, 4}, {count / 4, 2, 2}, {4, 2, count / 8}, {1, count, 1}};
      Shape shape = shapes[pick(4)];
      define(shape, a.element,
             "tile.reshape " + a.name + " : " + type(a) + " -> " + type(shape, a.element));
      break;
    }
    case 7: {
      const Tile *deep = find([](const Tile &t) { return t.shape.size() == 3; });
      if (!deep)
        break;
      Tile b = *deep;
      unsigned order[] = {0, 1, 2};
      for (unsigned i = 2; i > 0; --i)
        std::swap(order[i], order[pick(i + 1)]);
      Shape shape;
      std::string numbers;
      for (unsigned axis : order) {
        shape.push_back(b.shape[axis]);
        numbers += (numbers.empty() ? "" : ", ") + std::to_string(axis);
      }
      define(shape, b.element,
             "tile.trans " + b.name + " [" + numbers + "] : " + type(b) + " -> " +
                 type(shape, b.element));
      break;
    }
    case 8: {
      if (a.shape.size() > 2)
        break;
      unsigned axis = pick(a.shape.size() + 1);
      Shape shape = a.shape;
      shape.insert(shape.begin() + axis, 1);
      Tile b = define(shape, a.element,
                      "tile.expand_dims " + a.name + " axis " + std::to_string(axis) + " : " +
                          type(a) + " -> " + type(shape, a.element));
      shape[axis] = chance(50) ? 2 : 8;
      if (elements(shape) <= 2048)
        define(shape, a.element,
               "tile.broadcast " + b.name + " : " + type(b) + " -> " + type(shape, a.element));
      break;
    }
    case 0:
      if (a.shape.size() == 2)
        define({a.shape[1], a.shape[0]}, a.element,
               "tile.trans " + a.name + " [1, 0] : " + type(a) + " -> " +
                   type({a.shape[1], a.shape[0]}, a.element));
      break;
    case 1: {
      int64_t count = elements(a.shape);
      Shape shape = a.shape.size() == 1 && count >= 4 ? Shape{count / 4, 4} : Shape{count};
      define(shape, a.element,
             "tile.reshape " + a.name + " : " + type(a) + " -> " + type(shape, a.element));
      break;
    }
    case 2: {
      if (a.shape.size() != 2 || (a.shape[0] != 1 && a.shape[1] != 1))
        break;
      Shape shape = a.shape;
      int64_t wide = chance(50) ? 16 : 4;
      shape[shape[0] == 1 ? 0 : 1] = wide;
      if (elements(shape) <= 2048)
        define(shape, a.element,
               "tile.broadcast " + a.name + " : " + type(a) + " -> " + type(shape, a.element));
      break;
    }
    case 3: {
      Tile b = some(a.shape, a.element);
      Shape shape = a.shape;
      shape.push_back(2);
      if (shape.size() > 3 || elements(shape) > 2048)
        break;
      Tile joined = define(shape, a.element,
                           "tile.join " + a.name + ", " + b.name + " : " + type(a) + " -> " +
                               type(shape, a.element));
      Tile first{fresh(), a.element, a.shape};
      text << "  " << first.name << ":2 = tile.split " << joined.name << " : " << type(joined)
           << " -> " << type(a) << "\n";
      tiles.push_back({first.name + "#0", a.element, a.shape});
      tiles.push_back({first.name + "#1", a.element, a.shape});
      break;
    }
    case 4: {
      if (a.shape.size() != 1 || a.shape[0] > 1024)
        break;
      Tile b = some(a.shape, a.element);
      Shape shape = {a.shape[0] * 2};
      define(shape, a.element,
             "tile.cat " + a.name + ", " + b.name + " : " + type(a) + ", " + type(b) + " -> " +
                 type(shape, a.element));
      break;
    }
    case 5: {
      unsigned axis = pick(a.shape.size());
      Tile value = some(a.shape, "i32");
      Tile bound = define(a.shape, "i32",
                          "arith.constant dense<" + std::to_string(a.shape[axis]) +
                              "> : " + type(a.shape, "i32"));
      Tile index =
          define(a.shape, "i32",
                 "tile.remui " + value.name + ", " + bound.name + " : " + type(a.shape, "i32"));
      define(a.shape, a.element,
             "tile.gather " + a.name + "[" + index.name + "] axis " + std::to_string(axis) + " : " +
                 type(a) + ", " + type(index) + " -> " + type(a));
      break;
    }
    }
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

  void reduce() {
    const Tile *found = find([](const Tile &t) { return !t.shape.empty(); });
    if (!found)
      return;
    Tile a = *found;
    unsigned axis = pick(a.shape.size());
    bool scan = chance(40);
    Shape shape = a.shape;
    if (!scan)
      shape.erase(shape.begin() + axis);
    std::string reverse = scan && chance(50) ? " reverse" : "";
    if (isByteFloat(a.element))
      return;
    std::string code = std::string(scan ? "tile.scan" : "tile.reduce") + "(" + a.name + ") axis " +
                       std::to_string(axis) + reverse + " : (" + type(a) + ") -> " +
                       type(shape, a.element) + combine(a.element, chance(25));
    define(shape, a.element, code);
  }

  // How often each number below a count occurs, among those that a mask lets through.
  void histogram() {
    const Tile *found =
        find([](const Tile &t) { return t.shape.size() == 1 && t.element == "i32"; });
    if (!found)
      return;
    Tile a = *found;
    Shape bins = {chance(50) ? 8 : 32};
    Tile bound = define(a.shape, "i32",
                        "arith.constant dense<" + std::to_string(bins[0]) + "> : " + type(a));
    Tile value =
        define(a.shape, "i32", "tile.remui " + a.name + ", " + bound.name + " : " + type(a));
    define(bins, "i32",
           "tile.histogram " + value.name + (chance(50) ? mask(a.shape) : "") + " : " + type(a) +
               " -> " + type(bins, "i32"));
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

  // A product of which masks cut off rows, columns and K, perhaps summed over the rounds of a loop.
  void raggedProduct() {
    std::optional<Tile> left;
    scoped([&] {
      const int64_t extents[] = {8, 16, 32, 64};
      int64_t m = extents[pick(4)], n = extents[pick(4)], k = extents[pick(4)];
      const char *numbers[] = {"i8", "f32", "f16", "f32"};
      std::string element = numbers[pick(4)], sum = element == "i8" ? "i32" : "f32";
      auto limit = [&](int64_t extent) {
        return chance(85) ? scalar("i32", "arith.constant " +
                                              std::to_string(int(pick(extent + 16)) - 8) + " : i32")
                          : some({}, "i32");
      };
      // True before `limit` along `axis`.
      auto before = [&](const Shape &shape, unsigned axis, const Tile &limit) {
        int64_t extent = shape[axis];
        Shape line = axis ? Shape{1, extent} : Shape{extent, 1};
        Tile index =
            define({extent}, "i32",
                   "tile.arange 0 to " + std::to_string(extent) + " : " + type({extent}, "i32"));
        index = define(line, "i32",
                       "tile.expand_dims " + index.name + " axis " + std::to_string(1 - axis) +
                           " : " + type(index) + " -> " + type(line, "i32"));
        Tile bound =
            define(line, "i32", "tile.splat " + limit.name + " : i32 -> " + type(line, "i32"));
        Tile in = define(line, "i1",
                         "arith.cmpi slt, " + index.name + ", " + bound.name + " : " + type(index));
        return define(shape, "i1",
                      "tile.broadcast " + in.name + " : " + type(in) + " -> " + type(shape, "i1"));
      };
      auto place = [&] {
        return "[" + number("i32", int(pick(12)) - 4) + ", " + number("i32", int(pick(12)) - 4) +
               "]";
      };
      auto bytes = [&](const Shape &shape, unsigned axis, const Tile &limit) {
        if (chance(25)) {
          std::string made = descriptor(3, shape), at = place();
          touch(3, Access::Read);
          return define(shape, "i8",
                        "tile.desc_load " + made + at + " : " + descriptorType(shape, "i8") +
                            " -> " + type(shape, "i8"));
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
                      "tile.load " + where + options + " : " + type(shape, "!tile.ptr<i8>") +
                          " -> " + type(shape, "i8"));
      };
      auto operand = [&](const Shape &shape, unsigned axis, const Tile &limit) {
        Tile tile = bytes(shape, axis, limit);
        return element == "i8" ? tile
                               : define(shape, element,
                                        "arith.sitofp " + tile.name + " : " + type(tile) + " to " +
                                            type(shape, element));
      };
      Tile depth = limit(k), rows = limit(m), columns = limit(n);
      auto dot = [&](const std::string &acc) {
        Tile a = operand({m, k}, 1, depth), b = operand({k, n}, 0, chance(80) ? depth : limit(k));
        return define({m, n}, sum,
                      "tile.dot " + a.name + ", " + b.name + ", " + acc +
                          (element == "i8" && chance(40) ? " unsigned" : "") + " : " + type(a) +
                          ", " + type(b) + " -> " + type({m, n}, sum));
      };
      Tile result = constant({m, n}, sum);
      unsigned sums = sum == "i32" ? 1 : 0;
      if (chance(50)) {
        std::string i = fresh(), carried = fresh(), results = fresh(), tile = type({m, n}, sum);
        Tile lower = scalar("i32", "arith.constant 0 : i32"),
             upper = scalar("i32", "arith.constant " + std::to_string(pick(4)) + " : i32"),
             step = scalar("i32", "arith.constant 1 : i32");
        line(results + " = scf.for " + i + " = " + lower.name + " to " + upper.name + " step " +
             step.name + " iter_args(" + carried + " = " + result.name + ") -> (" + tile +
             ") : i32 {");
        inRegion([&] {
          // Each round may look at what the one before left, further than the last one does.
          if (mayWrite(sums) && chance(30)) {
            tiles.push_back({i, "i32", {}});
            Tile in = before({m, n}, 0, chance(50) ? Tile{i, "i32", {}} : rows);
            line("tile.store " + pointers(sums, linear({m, n}), Access::Write) + ", " + carried +
                 " mask " + in.name + " : " + type(in) + " : " +
                 type({m, n}, "!tile.ptr<" + sum + ">") + ", " + tile);
          }
          line("scf.yield " + dot(carried).name + " : " + tile);
        });
        line("}");
        result = {results, sum, {m, n}};
      } else {
        result = dot(result.name);
      }
      if (chance(50))
        result = define({m, n}, sum,
                        (sum == "i32" ? "arith.addi " : "arith.addf ") + result.name + ", " +
                            constant({m, n}, sum).name + " : " + type(result));
      if (!mayWrite(sums)) {
        left = result;
        return;
      }
      if (chance(25)) {
        std::string made = descriptor(sums, {m, n}), at = place();
        touch(sums, Access::Write);
        line("tile.desc_store " + made + at + ", " + result.name + " : " +
             descriptorType({m, n}, sum) + ", " + type(result));
        return;
      }
      std::string options;
      if (chance(90)) {
        Tile in = before({m, n}, chance(50), chance(50) ? rows : columns);
        if (chance(70)) {
          Tile other = before({m, n}, 1, columns);
          in = define({m, n}, "i1", "arith.andi " + in.name + ", " + other.name + " : " + type(in));
        }
        options = " mask " + in.name + " : " + type(in);
      }
      line("tile.store " + pointers(sums, linear({m, n}), Access::Write) + ", " + result.name +
           options + " : " + type({m, n}, "!tile.ptr<" + sum + ">") + ", " + type(result));
    });
    if (left)
      tiles.push_back(*left);
  }

  // --- products of small numbers, loops that loads run ahead of ---

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

  // Row-major places, or column-major ones, of a tile in a larger matrix.
  Tile strided(const Shape &shape) {
    int64_t stride = std::max(shape[0], shape[1]) + (chance(60) ? 0 : chance(50) ? 16 : 3);
    bool isColumnMajor = chance(30);
    auto along = [&](unsigned axis, int64_t by) {
      int64_t extent = shape[axis];
      Tile range =
          define({extent}, "i32",
                 "tile.arange 0 to " + std::to_string(extent) + " : " + type({extent}, "i32"));
      Shape line = axis ? Shape{1, extent} : Shape{extent, 1};
      Tile wide = define(line, "i32",
                         "tile.expand_dims " + range.name + " axis " + std::to_string(1 - axis) +
                             " : " + type(range) + " -> " + type(line, "i32"));
      if (by != 1) {
        Tile factor =
            define(line, "i32", "arith.constant dense<" + std::to_string(by) + "> : " + type(wide));
        wide = define(line, "i32",
                      "arith.muli " + wide.name + ", " + factor.name + " : " + type(wide));
      }
      return define(shape, "i32",
                    "tile.broadcast " + wide.name + " : " + type(wide) + " -> " +
                        type(shape, "i32"));
    };
    Tile rows = along(0, isColumnMajor ? 1 : stride),
         columns = along(1, isColumnMajor ? stride : 1);
    return define(shape, "i32",
                  "arith.addi " + rows.name + ", " + columns.name + " : " + type(rows));
  }
  Tile splat(const Tile &number, const Shape &shape) {
    return define(shape, number.element,
                  "tile.splat " + number.name + " : " + number.element + " -> " +
                      type(shape, number.element));
  }
  // How often a loop runs: a number that is known, or one that is not.
  Tile trips() {
    if (chance(60))
      return scalar("i32", "arith.constant " + std::to_string(pick(7)) + " : i32");
    Tile bound = scalar("i32", "arith.constant " + std::to_string(1 + pick(7)) + " : i32");
    return scalar("i32", "tile.remui " + (chance(50) ? "%n" : some({}, "i32").name) + ", " +
                             bound.name + " : i32");
  }

  // An operand of which each step reads another piece.
  struct Stream {
    std::string base, element, target; // `target`: what it is multiplied as
    Shape stored;
    bool isTurned, isCarried, isMasked, isDescribed, isTabled;
    int64_t step;
    Tile offsets, in; // `in`: what the mask lets through
    std::string start, pointer, described;

    std::string types() const { return type(stored, "!tile.ptr<" + element + ">"); }
  };
  Stream stream(const std::string &base, const std::string &element, const std::string &target,
                const Shape &shape) {
    Stream out;
    out.base = base;
    out.element = element;
    out.target = target;
    out.isTurned = chance(40);
    out.stored = out.isTurned ? Shape{shape[1], shape[0]} : shape;
    out.isDescribed = chance(20);
    out.isTabled = !out.isDescribed && !mayWrite(1) && chance(25);
    out.isCarried = !out.isDescribed && !out.isTabled && chance(50);
    out.isMasked = !out.isDescribed && chance(40);
    out.step = chance(80) ? 16 * (1 + pick(8)) : 1 + pick(40);
    if (out.isDescribed) {
      out.described = fresh();
      std::string rows = number("i64", 8 + pick(100)), columns = number("i64", 8 + pick(100)),
                  stride = number("i64", 128), one = number("i64", 1);
      line(out.described + " = tile.make_desc " + base + ", [" + rows + ", " + columns + "], [" +
           stride + ", " + one + "] : !tile.ptr<" + element + "> -> " +
           descriptorType(out.stored, element));
      return out;
    }
    out.offsets = strided(out.stored);
    if (out.isMasked)
      out.in = prefix(out.stored);
    if (out.isCarried)
      out.start = pointersTo(base, element, out.offsets);
    return out;
  }
  // The piece of step `i`.
  Tile piece(const Stream &of, const Tile &i) {
    Tile tile = loadedPiece(of, i);
    bool isEarly = chance(50);
    if (of.element != of.target && isEarly)
      tile = converted(tile, "arith.sitofp", of.target);
    if (of.isTurned)
      tile = transposed(tile);
    return tile.element == of.target ? tile : converted(tile, "arith.sitofp", of.target);
  }
  Tile loadedPiece(const Stream &of, const Tile &i) {
    if (of.isDescribed) {
      Tile by = scalar("i32", "arith.constant " + std::to_string(8 * pick(5)) + " : i32");
      Tile far = scalar("i32", "arith.muli " + i.name + ", " + by.name + " : i32");
      std::string other = number("i32", int(pick(40)) - 10);
      return define(of.stored, of.element,
                    "tile.desc_load " + of.described + "[" +
                        (chance(50) ? far.name + ", " + other : other + ", " + far.name) +
                        "] : " + descriptorType(of.stored, of.element) + " -> " +
                        type(of.stored, of.element));
    }
    std::string where = of.pointer;
    if (of.isTabled) { // rows whose numbers are read from memory
      Shape line = {of.stored[0], 1};
      Tile places = linear({of.stored[0]});
      Tile far = splat(i, places.shape);
      places = define(places.shape, "i32",
                      "arith.addi " + places.name + ", " + far.name + " : " + type(far));
      std::string table = pointersTo("%p1", "i32", places);
      Tile rows = define(places.shape, "i32",
                         "tile.load " + table + " : " + type(places.shape, "!tile.ptr<i32>") +
                             " -> " + type(places));
      Tile bound = define(places.shape, "i32", "arith.constant dense<100> : " + type(places));
      rows = define(places.shape, "i32",
                    "tile.remui " + rows.name + ", " + bound.name + " : " + type(rows));
      Tile stride = define(places.shape, "i32", "arith.constant dense<64> : " + type(places));
      rows = define(places.shape, "i32",
                    "arith.muli " + rows.name + ", " + stride.name + " : " + type(rows));
      Tile column = define(line, "i32",
                           "tile.expand_dims " + rows.name + " axis 1 : " + type(rows) + " -> " +
                               type(line, "i32"));
      Tile all = define(of.stored, "i32",
                        "tile.broadcast " + column.name + " : " + type(column) + " -> " +
                            type(of.stored, "i32"));
      Tile offsets = define(of.stored, "i32",
                            "arith.addi " + all.name + ", " + of.offsets.name + " : " + type(all));
      where = pointersTo(of.base, of.element, offsets);
    } else if (!of.isCarried) {
      Tile by = scalar("i32", "arith.constant " + std::to_string(of.step) + " : i32");
      Tile far = scalar("i32", "arith.muli " + i.name + ", " + by.name + " : i32");
      std::string base = of.base;
      Tile offsets = of.offsets;
      if (chance(50)) {
        std::string moved = fresh();
        line(moved + " = tile.addptr " + base + ", " + far.name + " : !tile.ptr<" + of.element +
             ">, i32");
        base = moved;
      } else {
        Tile all = splat(far, of.stored);
        offsets = define(of.stored, "i32",
                         "arith.addi " + offsets.name + ", " + all.name + " : " + type(all));
      }
      where = pointersTo(base, of.element, offsets);
    }
    std::string options;
    if (of.isMasked) {
      Tile in = of.in;
      if (chance(40)) { // a mask of the step
        Tile bound =
            splat(scalar("i32", "arith.constant " + std::to_string(pick(5)) + " : i32"), of.stored);
        Tile step = splat(i, of.stored);
        in = define(of.stored, "i1",
                    "arith.cmpi slt, " + step.name + ", " + bound.name + " : " + type(bound));
      }
      options = " mask " + in.name + " : " + type(in);
      if (chance(60)) {
        Tile other =
            define(of.stored, of.element,
                   std::string("arith.constant dense<") + (chance(80) ? "0" : "3") +
                       (isFloat(of.element) ? ".0" : "") + "> : " + type(of.stored, of.element));
        options += " other " + other.name + " : " + type(other);
      }
    }
    return define(of.stored, of.element,
                  "tile.load " + where + options + " : " + of.types() + " -> " +
                      type(of.stored, of.element));
  }

  // A product summed over steps, perhaps with a second one behind it as in attention, perhaps in a
  // loop over tiles.
  void steps() {
    std::optional<Tile> left;
    scoped([&] {
      const int64_t extents[] = {16, 32, 64, 64};
      int64_t m = chance(10) ? 128 : extents[pick(4)], n = extents[pick(4)], k = extents[pick(4)],
              width = extents[pick(3)];
      unsigned array = pick(smallArrays);
      bool isSecond = array < 2 && chance(35), isResident = chance(30),
           isOfRows = isSecond && chance(50);
      std::string base = "%q" + std::to_string(array), element = smallElementsText[array],
                  sums = "f32";
      // Bytes are multiplied as they are, or as halves, on either side.
      bool mayBeBytes = !mayWrite(3) && !isSecond && chance(50), isWhole = mayBeBytes && chance(40);
      if (isWhole) {
        base = "%p3";
        element = "i8";
        sums = "i32";
        isResident = false;
      }
      auto made = [&](const Shape &shape) {
        return mayBeBytes && array < 2 && !isWhole && chance(50)
                   ? stream("%p3", "i8", element, shape)
                   : stream(base, element, element, shape);
      };
      Stream a = made({m, k}), b = made({k, n});
      std::vector<Stream *> streams = {&b};
      std::optional<Stream> c;
      if (isSecond)
        streams.push_back(&c.emplace(stream(base, element, element, {n, width})));
      Tile resident = {"", "", {}};
      if (isResident)
        resident = small(array, {m, k});
      else
        streams.push_back(&a);
      Shape shape = {m, isSecond ? width : n};
      bool addsInSteps = mayWrite(0) && sums == "f32" && chance(20);
      std::string addsTo;
      if (addsInSteps)
        addsTo = pointers(0, linear(shape), Access::Write);
      Tile sum = constant(shape, sums), zero = constant({}, "i32"),
           one = scalar("i32", "arith.constant 1 : i32");
      zero = scalar("i32", "arith.constant 0 : i32");
      Tile first = chance(80) ? zero : scalar("i32", "arith.constant 1 : i32"), count = trips(),
           by = chance(80) ? one : scalar("i32", "arith.constant 2 : i32");
      // One loop, whose results are the sum and the pointers of the streams that are carried.
      auto loop = [&](const Tile &begin) {
        if (addsInSteps)
          touch(0, Access::Write);
        std::string i = fresh(), carried = fresh(), results = fresh(), types = type(sum);
        std::string args = carried + " = " + begin.name;
        unsigned number = 1;
        std::vector<Stream *> moving;
        for (Stream *one : streams)
          if (one->isCarried) {
            one->pointer = fresh();
            args += ", " + one->pointer + " = " + one->start;
            types += ", " + one->types();
            ++number;
            moving.push_back(one);
          }
        line(results + (number > 1 ? ":" + std::to_string(number) : "") + " = scf.for " + i +
             " = " + first.name + " to " + count.name + " step " + by.name + " iter_args(" + args +
             ") -> (" + types + ") : i32 {");
        inRegion([&] {
          Tile step{i, "i32", {}};
          tiles.push_back(step);
          Tile left = isResident ? resident : piece(a, step), right = piece(b, step);
          Tile acc{carried, sums, shape}, made = acc;
          if (isSecond) {
            Tile scores = dot(left, right, constant({m, n}, "f32"));
            if (isOfRows) {
              Tile most = define({m}, "f32",
                                 "tile.reduce(" + scores.name + ") axis 1 : (" + type(scores) +
                                     ") -> " + type({m}, "f32") +
                                     " {\n  ^bb0(%l: f32, %r: f32):\n    %c = arith.maxnumf %l, "
                                     "%r : f32\n    tile.yield %c : f32\n  }\n");
              Tile column = define({m, 1}, "f32",
                                   "tile.expand_dims " + most.name + " axis 1 : " + type(most) +
                                       " -> " + type({m, 1}, "f32"));
              Tile all = define({m, n}, "f32",
                                "tile.broadcast " + column.name + " : " + type(column) + " -> " +
                                    type(scores));
              scores = define({m, n}, "f32",
                              "arith.subf " + scores.name + ", " + all.name + " : " + type(all));
            }
            Tile weights = converted(scores, "arith.truncf", smallElementsText[array]);
            made = dot(weights, piece(*c, step), acc);
          } else if (chance(70)) {
            made = dot(left, right, acc);
          } else { // summed by hand
            Tile product = dot(left, right, constant(shape, sums));
            made = define(shape, sums,
                          (sums == "f32" ? "arith.addf " : "arith.addi ") + acc.name + ", " +
                              product.name + " : " + type(acc));
          }
          if (chance(20))
            elementwise();
          if (addsInSteps) // in the same threads in each step
            define(shape, sums,
                   "tile.atomic_rmw <fadd>, <relaxed>, <gpu>, " + addsTo + ", " + made.name +
                       " : " + type(shape, "!tile.ptr<f32>") + ", " + type(made) + " -> " +
                       type(made));
          std::string yields = made.name;
          for (Stream *one : moving) {
            Tile far = define(one->stored, "i32",
                              "arith.constant dense<" + std::to_string(one->step) +
                                  "> : " + type(one->stored, "i32"));
            std::string next = fresh();
            line(next + " = tile.addptr " + one->pointer + ", " + far.name + " : " + one->types() +
                 ", " + type(far));
            yields += ", " + next;
          }
          line("scf.yield " + yields + " : " + types);
        });
        line(chance(70) ? "} {tile.num_stages = " + std::to_string(1 + pick(4)) + " : i32}" : "}");
        return Tile{number > 1 ? results + "#0" : results, sums, shape};
      };
      if (chance(70)) {
        left = loop(sum);
        return;
      }
      std::string tile = fresh(), carried = fresh(), results = fresh();
      Tile tilesCount = trips();
      line(results + " = scf.for " + tile + " = " + zero.name + " to " + tilesCount.name +
           " step " + one.name + " iter_args(" + carried + " = " + sum.name + ") -> (" + type(sum) +
           ") : i32 {");
      inRegion([&] {
        Tile number{tile, "i32", {}};
        Tile begin =
            splat(sums == "i32" ? number : scalar("f32", "arith.sitofp " + tile + " : i32 to f32"),
                  shape);
        // The tiles differ in where they begin.
        if (chance(60))
          for (Stream *one : streams)
            if (one->isCarried) {
              Tile far = splat(number, one->stored);
              std::string moved = fresh();
              line(moved + " = tile.addptr " + one->start + ", " + far.name + " : " + one->types() +
                   ", " + type(far));
              one->start = moved;
            }
        Tile made = loop(begin);
        if (mayWrite(0) && sums == "f32" && chance(40))
          line("tile.store " + pointers(0, linear(shape), Access::Write) + ", " + made.name +
               " : " + type(shape, "!tile.ptr<f32>") + ", " + type(made));
        Tile next = define(shape, sums,
                           (sums == "f32" ? "arith.addf " : "arith.addi ") + carried + ", " +
                               made.name + " : " + type(made));
        line("scf.yield " + next.name + " : " + type(next));
      });
      line(chance(50) ? "} {tile.flatten}" : "}");
      left = Tile{results, sums, shape};
    });
    tiles.push_back(*left);
  }

  // Rows that are read one by one, and perhaps written to places of their own.
  void rows() {
    std::optional<Tile> left;
    scoped([&] {
      Shape shape = chance(50) ? Shape{row} : chance(50) ? Shape{128} : Shape{8, 16};
      unsigned from = workArray(), to = writtenArray();
      std::string element = arrayElementsText[from];
      bool writes = from != to && chance(50);
      int64_t count = elements(shape);
      Tile offsets = linear(shape), acc = constant(shape, element), number = trips(),
           zero = scalar("i32", "arith.constant 0 : i32"),
           one = scalar("i32", "arith.constant 1 : i32"),
           by = scalar("i32", "arith.constant " + std::to_string(chance(50) ? count : pick(50)) +
                                  " : i32"),
           apart = scalar("i32", "arith.constant " + std::to_string(count) + " : i32");
      if (isGpu && (mayWrite(from) || writes))
        barrier();
      std::string i = fresh(), carried = fresh(), results = fresh(), types = type(acc);
      line(results + " = scf.for " + i + " = " + zero.name + " to " + number.name + " step " +
           one.name + " iter_args(" + carried + " = " + acc.name + ") -> (" + types + ") : i32 {");
      auto inner = [&] {
        tiles.push_back({i, "i32", {}});
        auto placed = [&](const Tile &factor) {
          Tile all = splat(scalar("i32", "arith.muli " + i + ", " + factor.name + " : i32"), shape);
          return define(shape, "i32",
                        "arith.addi " + offsets.name + ", " + all.name + " : " + type(all));
        };
        std::string options;
        if (chance(40)) {
          Tile in = prefix(shape);
          options = " mask " + in.name + " : " + type(in);
          if (chance(50)) {
            Tile other = constant(shape, element);
            options += " other " + other.name + " : " + type(other);
          }
        }
        Tile read = define(
            shape, element,
            "tile.load " + pointersTo("%p" + std::to_string(from), element, placed(by)) + options +
                " : " + type(shape, "!tile.ptr<" + element + ">") + " -> " + type(shape, element));
        Tile next = define(shape, element,
                           (isFloat(element) ? "arith.maxnumf " : "arith.addi ") + carried + ", " +
                               read.name + " : " + type(read));
        if (writes) {
          std::string target = arrayElementsText[to];
          Tile value = some(shape, target);
          line("tile.store " + pointersTo("%p" + std::to_string(to), target, placed(apart)) + ", " +
               value.name + " : " + type(shape, "!tile.ptr<" + target + ">") + ", " + type(value));
        }
        line("scf.yield " + next.name + " : " + types);
      };
      scoped(inner); // steps do not meet in memory
      touchAll();
      line(chance(80) ? "} {tile.num_stages = " + std::to_string(1 + pick(4)) + " : i32}" : "}");
      left = Tile{results, element, shape};
    });
    tiles.push_back(*left);
  }

  // A row that one loop loads and later ones load again, and stores that meet it or do not: what
  // may be kept of it is known while the program runs, if at all.
  void again() {
    std::optional<Tile> left;
    scoped([&] {
      const int64_t extents[] = {32, 128, 128, 256, 512, 1024};
      int64_t count = extents[pick(6)], most = std::min<int64_t>(6, 3000 / count);
      Shape shape = {count};
      unsigned from = workArray(), to = chance(70) ? from : workArray();
      std::string element = arrayElementsText[from], target = arrayElementsText[to];
      auto constantOf = [&](int64_t value) {
        return scalar("i32", "arith.constant " + std::to_string(value) + " : i32");
      };
      auto below = [&](int64_t limit) {
        return scalar("i32", "tile.remui %n, " + constantOf(limit).name + " : i32");
      };
      Tile columns = define(
          shape, "i32", "tile.arange 0 to " + std::to_string(count) + " : " + type(shape, "i32"));
      Tile number = chance(50) ? constantOf(pick(unsigned(most) + 1)) : below(most + 1),
           zero = constantOf(0), one = constantOf(1), by = constantOf(count),
           start = constantOf(isAligned && chance(70) ? 16 * pick(3) : pick(40)),
           limit =
               chance(50) ? constantOf(int64_t(pick(unsigned(most * count)))) : below(most * count);
      bool isMasked = chance(50);
      // Where stores go: to the row itself, a step beyond, behind it, or who knows.
      Tile shift = chance(40)   ? zero
                   : chance(30) ? by
                   : chance(40) ? constantOf(most * count)
                   : chance(50) ? constantOf(pick(300))
                                : below(700);
      bool isInPlace = from == to && shift.name == zero.name;
      auto placed = [&](const Tile &step, const Tile *further) {
        Tile at = scalar("i32", "arith.muli " + step.name + ", " + by.name + " : i32");
        if (further)
          at = scalar("i32", "arith.addi " + at.name + ", " + further->name + " : i32");
        if (chance(50)) {
          at = scalar("i32", "arith.addi " + at.name + ", " + start.name + " : i32");
          Tile all = splat(at, shape);
          return define(shape, "i32",
                        "arith.addi " + all.name + ", " + columns.name + " : " + type(all));
        }
        Tile all = splat(at, shape), first = splat(start, shape);
        Tile sum = define(shape, "i32",
                          "arith.addi " + columns.name + ", " + all.name + " : " + type(all));
        return define(shape, "i32",
                      "arith.addi " + sum.name + ", " + first.name + " : " + type(sum));
      };
      auto maskOf = [&](const Tile &step) -> std::string {
        if (!isMasked)
          return "";
        Tile all =
                 splat(scalar("i32", "arith.muli " + step.name + ", " + by.name + " : i32"), shape),
             bound = splat(limit, shape);
        Tile at = define(shape, "i32",
                         "arith.addi " + all.name + ", " + columns.name + " : " + type(all));
        Tile in = define(shape, "i1",
                         "arith.cmpi slt, " + at.name + ", " + bound.name + " : " + type(at));
        return " mask " + in.name + " : " + type(in);
      };
      auto loop = [&](unsigned which, unsigned loops) {
        bool isLast = which + 1 == loops;
        bool stores = mayWrite(to) && chance(isLast ? 60 : 20);
        Tile acc = left ? *left : constant(shape, element);
        std::string i = fresh(), carried = fresh(), results = fresh(), types = type(acc);
        line(results + " = scf.for " + i + " = " + zero.name + " to " + number.name + " step " +
             one.name + " iter_args(" + carried + " = " + acc.name + ") -> (" + types +
             ") : i32 {");
        scoped([&] {
          Tile step{i, "i32", {}};
          tiles.push_back(step);
          std::string mask = maskOf(step), options = mask;
          if (isMasked && chance(60)) {
            Tile other = constant(shape, element);
            options += " other " + other.name + " : " + type(other);
          }
          Tile read =
              define(shape, element,
                     "tile.load " +
                         pointersTo("%p" + std::to_string(from), element, placed(step, nullptr)) +
                         options + " : " + type(shape, "!tile.ptr<" + element + ">") + " -> " +
                         type(shape, element));
          Tile next = define(shape, element,
                             (isFloat(element) ? "arith.maxnumf " : "arith.addi ") + carried +
                                 ", " + read.name + " : " + type(read));
          if (stores) {
            bool isApart = isInPlace && isLast && chance(50); // each thread its own
            if (!isApart)
              line("tile.barrier");
            Tile value = element == target && chance(50) ? next : some(shape, target);
            line("tile.store " +
                 pointersTo("%p" + std::to_string(to), target, placed(step, &shift)) + ", " +
                 value.name + mask + " : " + type(shape, "!tile.ptr<" + target + ">") + ", " +
                 type(value));
            if (!isApart)
              line("tile.barrier");
          }
          line("scf.yield " + next.name + " : " + types);
        });
        line("}");
        left = Tile{results, element, shape};
        tiles.push_back(*left);
        if (isLast || !mayWrite(to) || !chance(20))
          return;
        // A number between the loops.
        barrier();
        std::string place = fresh();
        Tile value = some({}, target);
        line(place + " = tile.addptr %p" + std::to_string(to) + ", " + below(1000).name +
             " : !tile.ptr<" + target + ">, i32");
        line("tile.store " + place + ", " + value.name + " : !tile.ptr<" + target + ">, " + target);
        barrier();
      };
      barrier();
      unsigned loops = chance(60) ? 2 : 3;
      for (unsigned which = 0; which < loops; ++which)
        loop(which, loops);
      touchAll();
    });
    tiles.push_back(*left);
    keep(*left);
  }

  // --- several values at once ---

  // Combines that are associative and not commutative, and the place of the largest.
  void multiReduce() {
    const Tile *found = find([](const Tile &t) {
      return !t.shape.empty() && !isByteFloat(t.element) && t.element != "i1";
    });
    if (!found)
      return;
    Tile a = *found, b = a;
    unsigned axis = pick(a.shape.size());
    bool scan = chance(50);
    std::string e = a.element, f = "i32", code;
    unsigned which = isFloat(e) ? 1 : pick(3);
    if (which == 0) { // linear maps
      b = some(a.shape, f = e);
      code = "    %x = arith.muli %la, %ra : " + e + "\n    %m = arith.muli %lb, %ra : " + e +
             "\n    %y = arith.addi %m, %rb : " + e + "\n";
    } else if (which == 1) { // the last that is marked
      b = some(a.shape, f = "i1");
      code = "    %x = arith.select %rb, %ra, %la : " + e + "\n    %y = arith.ori %lb, %rb : i1\n";
    } else { // the first of the largest
      b = some(a.shape, f = "i32");
      code = "    %g = arith.cmpi sgt, %la, %ra : " + e +
             "\n    %s = arith.cmpi eq, %la, %ra : " + e +
             "\n    %b = arith.cmpi slt, %lb, %rb : i32\n    %t = arith.andi %s, %b : i1\n" +
             "    %w = arith.ori %g, %t : i1\n    %x = arith.select %w, %la, %ra : " + e +
             "\n    %y = arith.select %w, %lb, %rb : i32\n";
    }
    Shape shape = a.shape;
    if (!scan)
      shape.erase(shape.begin() + axis);
    std::string results = fresh();
    line(results + ":2 = " + (scan ? "tile.scan(" : "tile.reduce(") + a.name + ", " + b.name +
         ") axis " + std::to_string(axis) + (scan && chance(50) ? " reverse" : "") + " : (" +
         type(a) + ", " + type(b) + ") -> (" + type(shape, e) + ", " + type(shape, f) +
         ") {\n  ^bb0(%la: " + e + ", %lb: " + f + ", %ra: " + e + ", %rb: " + f + "):\n" + code +
         "    tile.yield %x, %y : " + e + ", " + f + "\n  }");
    tiles.push_back({results + "#0", e, shape});
    tiles.push_back({results + "#1", f, shape});
  }

  // What sorting is made of: elements at a distance are compared and exchanged.
  void exchange() {
    const Tile *found = find([](const Tile &t) {
      return t.shape.size() == 1 && t.shape[0] >= 4 && !isFloat(t.element) && t.element != "i1";
    });
    if (!found)
      return;
    Tile a = *found;
    int64_t count = a.shape[0];
    std::string e = a.element;
    for (unsigned round = 1 + pick(4); round > 0; --round) {
      int64_t distance = 1;
      while (distance * 4 <= count && chance(60))
        distance *= 2;
      Shape cut = {count / (2 * distance), 2, distance}, turned = {cut[0], distance, 2},
            half = {cut[0], distance};
      Tile x = define(cut, e, "tile.reshape " + a.name + " : " + type(a) + " -> " + type(cut, e));
      x = define(turned, e,
                 "tile.trans " + x.name + " [0, 2, 1] : " + type(x) + " -> " + type(turned, e));
      std::string parts = fresh(), l = parts + "#0", r = parts + "#1", t = type(half, e);
      line(parts + ":2 = tile.split " + x.name + " : " + type(x) + " -> " + t);
      Tile swap = define(half, "i1",
                         std::string("arith.cmpi ") + (chance(50) ? "sgt" : "ult") + ", " + l +
                             ", " + r + " : " + t);
      Tile low =
          define(half, e,
                 "arith.select " + swap.name + ", " + r + ", " + l + " : " + type(swap) + ", " + t);
      Tile high =
          define(half, e,
                 "arith.select " + swap.name + ", " + l + ", " + r + " : " + type(swap) + ", " + t);
      x = define(turned, e,
                 "tile.join " + low.name + ", " + high.name + " : " + t + " -> " + type(turned, e));
      x = define(cut, e,
                 "tile.trans " + x.name + " [0, 2, 1] : " + type(x) + " -> " + type(cut, e));
      a = define({count}, e,
                 "tile.reshape " + x.name + " : " + type(x) + " -> " + type({count}, e));
    }
  }

  // Several reductions of one shape that nothing separates.
  void reductions() {
    const Tile *found = find([](const Tile &t) {
      return !t.shape.empty() && !isByteFloat(t.element) && elements(t.shape) >= 32;
    });
    if (!found)
      return;
    Shape shape = found->shape, outer = shape;
    unsigned axis = pick(shape.size());
    outer.erase(outer.begin() + axis);
    for (unsigned count = 2 + pick(2); count > 0; --count) {
      const Tile *other =
          find([&](const Tile &t) { return t.shape == shape && !isByteFloat(t.element); });
      Tile a = *other;
      define(outer, a.element,
             "tile.reduce(" + a.name + ") axis " + std::to_string(axis) + " : (" + type(a) +
                 ") -> " + type(outer, a.element) + combine(a.element, chance(15)));
    }
  }

  // Single numbers in memory.
  void single() {
    unsigned array = chance(50) ? writtenArray() : workArray();
    std::string element = arrayElementsText[array], pointer = "!tile.ptr<" + element + ">",
                at = fresh(), place = number("i32", pick(64));
    line(at + " = tile.addptr %p" + std::to_string(array) + ", " + place + " : " + pointer +
         ", i32");
    if (!mayWrite(array) || chance(40)) {
      touch(array, Access::Read);
      scalar(element, "tile.load " + at + " : " + pointer + " -> " + element);
      return;
    }
    Tile value = some({}, element);
    std::string mask = chance(40) ? " mask " + some({}, "i1").name + " : i1" : "";
    touch(array, Access::Write);
    if (array == 1 && !inWhile && chance(60)) {
      const char *kinds[] = {"add", "max", "umin", "xor", "xchg"};
      scalar("i32", std::string("tile.atomic_rmw <") + kinds[pick(5)] + ">, <acq_rel>, <gpu>, " +
                        at + ", " + value.name + mask + " : " + pointer + ", i32 -> i32");
      return;
    }
    line("tile.store " + at + ", " + value.name + mask + " : " + pointer + ", " + element);
  }

  void atomic() {
    Shape shape = any().shape;
    if (shape.empty())
      shape = {16};
    if (mayWrite(1) && chance(25)) { // some of the elements are what they are compared with
      Tile compare = chance(50) ? constant(shape, "i32") : some(shape, "i32");
      Tile value = some(shape, "i32");
      define(shape, "i32",
             "tile.atomic_cas <acq_rel>, <gpu>, " + pointers(1, linear(shape), Access::Write) +
                 ", " + compare.name + ", " + value.name + " : " + type(shape, "!tile.ptr<i32>") +
                 ", " + type(value) + " -> " + type(value));
      return;
    }
    const char *kinds[] = {"add", "max", "min", "umax", "umin", "and", "or", "xor", "xchg"};
    const char *floatKinds[] = {"fadd", "fadd", "fmax", "fmin", "xchg"};
    const unsigned arrays[] = {1, 1, 1, 0, 6, 2};
    unsigned array = arrays[pick(6)];
    if (array < workArrays && !mayWrite(array))
      return;
    const char *orders[] = {"relaxed", "acquire", "release", "acq_rel"};
    std::string order = orders[isGpu ? pick(4) : 3];
    std::string element = arrayElementsText[array],
                kind = array == 1 ? kinds[pick(9)] : floatKinds[pick(5)];
    if (isGpu && kind == "xchg" && bits(element) == 16)
      kind = "fadd"; // the language has none
    Tile value = some(shape, element);
    std::string where = pointers(array, linear(shape), Access::Write);
    if (isGpu && (kind == "fmax" || kind == "fmin")) {
      // What becomes of NaN is not promised.
      Tile before = constant(shape, element);
      value = constant(shape, element);
      line("tile.store " + where + ", " + before.name + " : " +
           type(shape, "!tile.ptr<" + element + ">") + ", " + type(before));
      barrier();
      touch(array, Access::Write);
    }
    define(shape, element,
           "tile.atomic_rmw <" + kind + ">, <" + order + ">, <gpu>, " + where + ", " + value.name +
               (chance(50) ? mask(shape) : "") + " : " + type(shape, "!tile.ptr<" + element + ">") +
               ", " + type(value) + " -> " + type(value));
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
  std::string number(const std::string &element, int64_t value) {
    return scalar(element, "arith.constant " + std::to_string(value) + " : " + element).name;
  }

  // Blocks of a descriptor, wholly or partly inside of what it describes.
  void describedBlock() {
    unsigned array = workArray();
    std::string element = arrayElementsText[array];
    if (chance(30)) { // rows anywhere, one by one
      std::string made = descriptor(array, {1, 16}), type1 = descriptorType({1, 16}, element);
      Tile rows = define({8}, "i32", "tile.arange 0 to 8 : tensor<8xi32>");
      std::string column = number("i32", int(pick(40)) - 10);
      if (mayWrite(array) && chance(50)) {
        Tile more = define({8}, "i32",
                           "arith.constant dense<" + std::to_string(int(pick(20)) - 5) +
                               "> : tensor<8xi32>");
        rows =
            define({8}, "i32", "arith.addi " + rows.name + ", " + more.name + " : tensor<8xi32>");
        Tile value = some({8, 16}, element);
        touch(array, Access::Write);
        line("tile.desc_scatter " + made + "[" + rows.name + ", " + column + "], " + value.name +
             " : " + type1 + ", tensor<8xi32>, " + type(value));
      } else {
        Tile at = some({8}, "i32");
        touch(array, Access::Read);
        define({8, 16}, element,
               "tile.desc_gather " + made + "[" + at.name + ", " + column + "] : " + type1 +
                   ", tensor<8xi32> -> " + type({8, 16}, element));
      }
      return;
    }
    Shape block = chance(50) ? Shape{8, 16} : Shape{4, 32};
    std::string made = descriptor(array, block), itsType = descriptorType(block, element);
    std::string at =
        "[" + number("i32", int(pick(30)) - 8) + ", " + number("i32", int(pick(50)) - 12) + "]";
    if (!mayWrite(array) || chance(50)) {
      touch(array, Access::Read);
      define(block, element,
             "tile.desc_load " + made + at + " : " + itsType + " -> " + type(block, element));
      return;
    }
    Tile value = some(block, element);
    const char *kinds[] = {"add", "max", "umin", "xor", "and"};
    touch(array, Access::Write);
    if (chance(30) && (element == "i32" || element == "f32"))
      line(std::string("tile.desc_reduce <") + (element == "f32" ? "fadd" : kinds[pick(5)]) +
           ">, " + made + at + ", " + value.name + " : " + itsType + ", " + type(value));
    else
      line("tile.desc_store " + made + at + ", " + value.name + " : " + itsType + ", " +
           type(value));
  }

  // What is neither arithmetic nor a change of shape.
  void odd() {
    Tile a = any();
    switch (pick(6)) {
    case 0: { // bits that become a number; NaN has many, so not the other way
      const char *from[] = {"i32", "i8", "i8", "i64"}, *to[] = {"f32", "f8E4M3FN", "f8E5M2", "f64"};
      unsigned which = pick(4);
      Tile source = some(a.shape, from[which]);
      define(a.shape, to[which],
             "tile.bitcast " + source.name + " : " + type(source) + " -> " +
                 type(a.shape, to[which]));
      break;
    }
    case 1: {
      Tile x = some(a.shape, "f32"), y = some(a.shape, "f32");
      if (chance(50))
        define(a.shape, "f32", "tile.div_rn " + x.name + ", " + y.name + " : " + type(x));
      else
        define(a.shape, "f32", "tile.sqrt_rn " + x.name + " : " + type(x));
      break;
    }
    case 2: {
      Tile x = some({}, chance(50) ? "i32" : "f32");
      Tile tile =
          define({1}, x.element,
                 "tile.splat " + x.name + " : " + x.element + " -> " + type({1}, x.element));
      scalar(x.element, "tile.unsplat " + tile.name + " : " + type(tile) + " -> " + x.element);
      break;
    }
    case 3:
      scalar("i32", "tile.num_programs " + std::to_string(pick(3)));
      break;
    case 4: { // addresses as numbers: how far apart they are, and one to read through
      Shape shape = a.shape.empty() ? Shape{16} : a.shape;
      unsigned array = workArray();
      std::string element = arrayElementsText[array], pointer = "!tile.ptr<" + element + ">";
      std::string where = pointers(array, linear(shape), Access::Read), base = fresh(),
                  bases = fresh(), number = fresh(), back = fresh();
      line(number + " = tile.ptr_to_int " + where + " : " + type(shape, pointer) + " -> " +
           type(shape, "i64"));
      line(base + " = tile.ptr_to_int %p" + std::to_string(array) + " : " + pointer + " -> i64");
      line(bases + " = tile.splat " + base + " : i64 -> " + type(shape, "i64"));
      define(shape, "i64", "arith.subi " + number + ", " + bases + " : " + type(shape, "i64"));
      line(back + " = tile.int_to_ptr " + number + " : " + type(shape, "i64") + " -> " +
           type(shape, pointer));
      define(shape, element,
             "tile.load " + back + " : " + type(shape, pointer) + " -> " + type(shape, element));
      break;
    }
    case 5: {
      if (a.shape.empty() || (a.element != "i32" && a.element != "f32"))
        break;
      std::string e = a.element;
      if (a.shape.back() % 2 == 0 && chance(50)) { // neighbours swap places
        define(a.shape, e,
               "tile.map pack 2 (" + a.name + ") : (" + type(a) + ") -> " + type(a) +
                   " {\n  ^bb0(%l: " + e + ", %r: " + e + "):\n    tile.yield %r, %l : " + e +
                   ", " + e + "\n  }");
        break;
      }
      define(a.shape, e,
             "tile.map pack 1 (" + a.name + ") : (" + type(a) + ") -> " + type(a) +
                 " {\n  ^bb0(%l: " + e +
                 "):\n    %c = " + (e == "i32" ? "arith.muli" : "arith.mulf") + " %l, %l : " + e +
                 "\n    tile.yield %c : " + e + "\n  }");
      break;
    }
    }
  }

  // Pointers and numbers that walk by the same amount in all elements.
  void walk(unsigned depth) {
    Shape shape = chance(50) ? Shape{16} : Shape{8, 4};
    unsigned array = workArray();
    std::string element = arrayElementsText[array], pointer = "!tile.ptr<" + element + ">";
    std::string pointerType = type(shape, pointer), numberType = type(shape, "i32");
    Tile offsets = linear(shape);
    std::string start = pointers(array, offsets, Access::Read), results = fresh(), p = fresh(),
                o = fresh(), i = fresh(), lower = fresh(), upper = fresh(), step = fresh();
    line(lower + " = arith.constant 0 : i32");
    line(upper + " = arith.constant " + std::to_string(pick(4)) + " : i32");
    line(step + " = arith.constant 1 : i32");
    line(results + ":2 = scf.for " + i + " = " + lower + " to " + upper + " step " + step +
         " iter_args(" + p + " = " + start + ", " + o + " = " + offsets.name + ") -> (" +
         pointerType + ", " + numberType + ") : i32 {");
    inRegion([&] {
      tiles.push_back({i, "i32", {}});
      tiles.push_back({o, "i32", shape});
      touch(array, Access::Read);
      define(shape, element,
             "tile.load " + p + " : " + pointerType + " -> " + type(shape, element));
      block(4, depth + 1);
      if (mayWrite(array) && chance(50)) {
        Tile value = some(shape, element);
        touch(array, Access::Write);
        line("tile.store " + p + ", " + value.name + " : " + pointerType + ", " + type(value));
      }
      Tile by = define(shape, "i32",
                       chance(50) ? "arith.constant dense<" + std::to_string(pick(20)) +
                                        "> : " + numberType
                                  : "tile.splat " + i + " : i32 -> " + numberType);
      std::string nextPointer = fresh(), nextNumber = fresh();
      line(nextPointer + " = tile.addptr " + p + ", " + by.name + " : " + pointerType + ", " +
           numberType);
      line(nextNumber + " = arith.addi " + o + ", " + by.name + " : " + numberType);
      line("scf.yield " + nextPointer + ", " + nextNumber + " : " + pointerType + ", " +
           numberType);
      line("}");
    });
    tiles.push_back({results + "#1", "i32", shape});
    touch(array, Access::Read);
    define(shape, element,
           "tile.load " + results + "#0 : " + pointerType + " -> " + type(shape, element));
  }

  // Without atomics inside that give something: with them it counts as waiting, and the programs
  // run in turns, each of which may see what the other has written so far.
  void whileLoop(unsigned depth) {
    bool outer = std::exchange(inWhile, true);
    Tile a = any();
    std::string zero = fresh(), one = fresh(), limit = fresh(), results = fresh();
    std::string count = fresh(), tile = fresh(), go = fresh(), countIn = fresh(), tileIn = fresh();
    std::string types = "i32, " + type(a);
    line(zero + " = arith.constant 0 : i32");
    line(one + " = arith.constant 1 : i32");
    line(limit + " = arith.constant " + std::to_string(pick(4)) + " : i32");
    line(results + ":2 = scf.while (" + count + " = " + zero + ", " + tile + " = " + a.name +
         ") : (" + types + ") -> (" + types + ") {");
    inRegion([&] {
      tiles.push_back({tile, a.element, a.shape});
      block(2, depth + 1);
      Tile passed = some(a.shape, a.element);
      line(go + " = arith.cmpi slt, " + count + ", " + limit + " : i32");
      line("scf.condition(" + go + ") " + count + ", " + passed.name + " : " + types);
    });
    line("} do {");
    line("^bb0(" + countIn + ": i32, " + tileIn + ": " + type(a) + "):");
    inRegion([&] {
      tiles.push_back({tileIn, a.element, a.shape});
      block(4, depth + 1);
      Tile passed = some(a.shape, a.element);
      std::string more = fresh();
      line(more + " = arith.addi " + countIn + ", " + one + " : i32");
      line("scf.yield " + more + ", " + passed.name + " : " + types);
    });
    line("}");
    inWhile = outer;
    tiles.push_back({results + "#1", a.element, a.shape});
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

  void loop(unsigned depth) {
    Tile a = any(), b = any();
    std::string results = fresh(), first = fresh(), second = fresh(), i = fresh();
    std::string types = "(" + type(a) + ", " + type(b) + ")";
    std::string lower = fresh(), upper = fresh(), step = fresh();
    text << "  " << lower << " = arith.constant 0 : i32\n  " << upper << " = arith.constant "
         << pick(4) << " : i32\n  " << step << " = arith.constant 1 : i32\n";
    text << "  " << results << ":2 = scf.for " << i << " = " << lower << " to " << upper << " step "
         << step << " iter_args(" << first << " = " << a.name << ", " << second << " = " << b.name
         << ") -> " << types << " : i32 {\n";
    inRegion([&] {
      tiles.push_back({i, "i32", {}});
      tiles.push_back({first, a.element, a.shape});
      tiles.push_back({second, b.element, b.shape});
      block(6, depth + 1);
      Tile x = some(a.shape, a.element), y = some(b.shape, b.element);
      if (type(a) == type(b) && chance(40)) { // swapped
        x.name = second;
        y.name = first;
      }
      text << "  scf.yield " << x.name << ", " << y.name << " : " << type(a) << ", " << type(b)
           << "\n  }\n";
    });
    tiles.push_back({results + "#0", a.element, a.shape});
    tiles.push_back({results + "#1", b.element, b.shape});
  }

  void branch(unsigned depth) {
    Tile a = any(), condition = some({}, "i1");
    std::string result = fresh();
    text << "  " << result << " = scf.if " << condition.name << " -> (" << type(a) << ") {\n";
    auto side = [&] {
      inRegion([&] {
        block(3, depth + 1);
        Tile x = some(a.shape, a.element);
        text << "  scf.yield " << x.name << " : " << type(a) << "\n";
      });
    };
    side();
    text << "  } else {\n";
    side();
    text << "  }\n";
    tiles.push_back({result, a.element, a.shape});
  }

  void block(unsigned count, unsigned depth) {
    for (unsigned i = 0; i < count; ++i) {
      uint32_t kind = pick(111);
      if (kind < 35)
        elementwise();
      else if (kind < 48)
        load();
      else if (kind < 58)
        store();
      else if (kind < 68)
        cast();
      else if (kind < 80)
        reshape();
      else if (kind < 82)
        odd();
      else if (kind < 84)
        describedBlock();
      else if (kind < 88)
        reduce();
      else if (kind < 89)
        histogram();
      else if (kind < 91)
        product();
      else if (kind < 92)
        raggedProduct();
      else if (kind < 94 && !inWhile)
        atomic();
      else if (kind < 96)
        ragged();
      else if (kind >= 109)
        reductions();
      else if (kind >= 107)
        exchange();
      else if (kind >= 105)
        single();
      else if (kind >= 103)
        multiReduce();
      else if (kind >= 102)
        smallProduct();
      else if (kind >= 100 && depth < 2)
        chance(65) ? steps() : rows();
      else if (depth < 2) {
        switch (pick(5)) {
        case 0:
          walk(depth);
          break;
        case 1:
          whileLoop(depth);
          break;
        case 2:
          branch(depth);
          break;
        default:
          loop(depth);
        }
      }
    }
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
