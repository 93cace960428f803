// Random kernels in tile IR, run by the reference interpreter and by the CPU engine on the same
// memory: every byte must agree. NEREID_FUZZ_ROUNDS, NEREID_FUZZ_SECONDS (of processor time) and
// NEREID_FUZZ_SEED change how many and which.
#include "CpuHarness.h"

#include "ref/Interpreter.h"
#include "ref/Reference.h"
#include "target/Cpu.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <regex>
#include <sstream>
#include <thread>

using namespace nereid;
using namespace nereid::test;

namespace {

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

// Writes a well-formed kernel, one random op after the other.
class Writer {
public:
  explicit Writer(uint32_t seed) : random(seed) {}

  std::string kernel() {
    // Long enough that the next row is fetched ahead.
    if (chance(8))
      row = 512;
    scalar("i32", "arith.constant " + std::to_string(int(pick(100)) - 50) + " : i32");
    scalar("i32", "tile.program_id 0");
    ranges();
    // Most are short, which costs a third; in long ones more meets.
    bool isLong = chance(40);
    // Something of every type to begin with, or of some.
    for (unsigned array : {0u, 2u, 3u, 6u, 7u + pick(2)})
      if (isLong || chance(40))
        loaded(chance(50) ? Shape{row} : Shape{16, 4}, array);
    block(isLong ? 6 + pick(14) : 2 + pick(6), 0);
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
    std::vector<Tile> last = tiles;
    for (const Tile &tile : last)
      if (mentions[tile.name] <= (tile.name.find('#') == std::string::npos) || chance(15))
        keep(tile);
    std::string parameters;
    for (unsigned i = 0; i < arrayCount; ++i)
      parameters += "%p" + std::to_string(i) + ": !tile.ptr<" + arrayElementsText[i] + ">, ";
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
  Tile any() { return tiles[pick(tiles.size())]; }
  Tile some(const Shape &shape, const std::string &element) {
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
    if (shape.size() > 1)
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
    Tile start =
        define(shape, "i32",
               "arith.constant dense<" + std::to_string(pick(40)) + "> : " + type(shape, "i32"));
    return define(shape, "i32",
                  "arith.addi " + index.name + ", " + start.name + " : " + type(shape, "i32"));
  }

  std::string pointers(unsigned array, const Tile &offsets) {
    std::string pointer = std::string("!tile.ptr<") + arrayElementsText[array] + ">";
    std::string splat = fresh(), sum = fresh();
    std::string types = type(offsets.shape, pointer);
    text << "  " << splat << " = tile.splat %p" << array << " : " << pointer << " -> " << types
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
    std::string where = pointers(array, offsets), element = arrayElementsText[array];
    std::string options;
    if (chance(50)) {
      options = mask(shape);
      if (chance(50)) {
        Tile other = some(shape, element);
        options += " other " + other.name + " : " + type(other);
      }
    }
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
                    "tile.load " + pointers(array, linear(shape)) + masked +
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
    if (chance(60)) {
      std::string where = pointers(array, linear(shape));
      line("tile.store " + where + ", " + x.name + (chance(80) ? masked : "") + " : " + pointer +
           ", " + tile);
    }
  }

  // A tile of an array at random places that do not repeat.
  Tile loaded(const Shape &shape, unsigned array) {
    std::string element = arrayElementsText[array];
    std::string where = pointers(array, linear(shape));
    return define(shape, element,
                  "tile.load " + where + " : " + type(shape, "!tile.ptr<" + element + ">") +
                      " -> " + type(shape, element));
  }

  // One array more often than the others, so that loads and stores meet.
  unsigned workArray() { return chance(60) ? 1 : pick(workArrays); }

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
    unsigned array = workArray();
    std::string element = arrayElementsText[array];
    // Of the values that fit, mostly the newest.
    const Tile *value = nullptr;
    for (const Tile &tile : tiles)
      if (tile.element == element && !tile.shape.empty() && (!value || chance(70)))
        value = &tile;
    Tile source = value ? *value : some({row}, element);
    std::string where = pointers(array, linear(source.shape));
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
      Shape shape = chance(50) ? Shape{row} : Shape{16, 4};
      define(shape, a.element,
             "tile.splat " + a.name + " : " + type(a) + " -> " + type(shape, a.element));
      return;
    }
    switch (pick(6)) {
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
          return define(shape, "i8",
                        "tile.desc_load " + made + at + " : " + descriptorType(shape, "i8") +
                            " -> " + type(shape, "i8"));
        }
        std::string where = pointers(3, linear(shape)), options;
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
      if (chance(50)) {
        std::string i = fresh(), carried = fresh(), results = fresh(), tile = type({m, n}, sum);
        Tile lower = scalar("i32", "arith.constant 0 : i32"),
             upper = scalar("i32", "arith.constant " + std::to_string(pick(4)) + " : i32"),
             step = scalar("i32", "arith.constant 1 : i32");
        line(results + " = scf.for " + i + " = " + lower.name + " to " + upper.name + " step " +
             step.name + " iter_args(" + carried + " = " + result.name + ") -> (" + tile +
             ") : i32 {");
        scoped([&] {
          // Each round may look at what the one before left, further than the last one does.
          if (chance(30)) {
            tiles.push_back({i, "i32", {}});
            Tile in = before({m, n}, 0, chance(50) ? Tile{i, "i32", {}} : rows);
            line("tile.store " + pointers(sum == "i32" ? 1 : 0, linear({m, n})) + ", " + carried +
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
      if (chance(25)) {
        std::string made = descriptor(sum == "i32" ? 1 : 0, {m, n}), at = place();
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
      line("tile.store " + pointers(sum == "i32" ? 1 : 0, linear({m, n})) + ", " + result.name +
           options + " : " + type({m, n}, "!tile.ptr<" + sum + ">") + ", " + type(result));
    });
  }

  void atomic() {
    Shape shape = any().shape;
    if (shape.empty())
      shape = {16};
    if (chance(25)) { // some of the elements are what they are compared with
      Tile compare = chance(50) ? constant(shape, "i32") : some(shape, "i32");
      Tile value = some(shape, "i32");
      define(shape, "i32",
             "tile.atomic_cas <acq_rel>, <gpu>, " + pointers(1, linear(shape)) + ", " +
                 compare.name + ", " + value.name + " : " + type(shape, "!tile.ptr<i32>") + ", " +
                 type(value) + " -> " + type(value));
      return;
    }
    const char *kinds[] = {"add", "max", "min", "umax", "umin", "and", "or", "xor", "xchg"};
    const char *floatKinds[] = {"fadd", "fadd", "fmax", "fmin", "xchg"};
    const unsigned arrays[] = {1, 1, 1, 0, 6, 2};
    unsigned array = arrays[pick(6)];
    std::string element = arrayElementsText[array],
                kind = array == 1 ? kinds[pick(9)] : floatKinds[pick(5)];
    Tile value = some(shape, element);
    std::string where = pointers(array, linear(shape));
    define(shape, element,
           "tile.atomic_rmw <" + kind + ">, <acq_rel>, <gpu>, " + where + ", " + value.name +
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
      if (chance(50)) {
        Tile more = define({8}, "i32",
                           "arith.constant dense<" + std::to_string(int(pick(20)) - 5) +
                               "> : tensor<8xi32>");
        rows =
            define({8}, "i32", "arith.addi " + rows.name + ", " + more.name + " : tensor<8xi32>");
        Tile value = some({8, 16}, element);
        line("tile.desc_scatter " + made + "[" + rows.name + ", " + column + "], " + value.name +
             " : " + type1 + ", tensor<8xi32>, " + type(value));
      } else {
        define({8, 16}, element,
               "tile.desc_gather " + made + "[" + some({8}, "i32").name + ", " + column +
                   "] : " + type1 + ", tensor<8xi32> -> " + type({8, 16}, element));
      }
      return;
    }
    Shape block = chance(50) ? Shape{8, 16} : Shape{4, 32};
    std::string made = descriptor(array, block), itsType = descriptorType(block, element);
    std::string at =
        "[" + number("i32", int(pick(30)) - 8) + ", " + number("i32", int(pick(50)) - 12) + "]";
    if (chance(50)) {
      define(block, element,
             "tile.desc_load " + made + at + " : " + itsType + " -> " + type(block, element));
      return;
    }
    Tile value = some(block, element);
    const char *kinds[] = {"add", "max", "umin", "xor", "and"};
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
      std::string where = pointers(array, linear(shape)), base = fresh(), bases = fresh(),
                  number = fresh(), back = fresh();
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
    std::string start = pointers(array, offsets), results = fresh(), p = fresh(), o = fresh(),
                i = fresh(), lower = fresh(), upper = fresh(), step = fresh();
    line(lower + " = arith.constant 0 : i32");
    line(upper + " = arith.constant " + std::to_string(pick(4)) + " : i32");
    line(step + " = arith.constant 1 : i32");
    line(results + ":2 = scf.for " + i + " = " + lower + " to " + upper + " step " + step +
         " iter_args(" + p + " = " + start + ", " + o + " = " + offsets.name + ") -> (" +
         pointerType + ", " + numberType + ") : i32 {");
    scoped([&] {
      tiles.push_back({i, "i32", {}});
      tiles.push_back({o, "i32", shape});
      define(shape, element,
             "tile.load " + p + " : " + pointerType + " -> " + type(shape, element));
      block(4, depth + 1);
      if (chance(50))
        line("tile.store " + p + ", " + some(shape, element).name + " : " + pointerType + ", " +
             type(shape, element));
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
    scoped([&] {
      tiles.push_back({tile, a.element, a.shape});
      block(2, depth + 1);
      Tile passed = some(a.shape, a.element);
      line(go + " = arith.cmpi slt, " + count + ", " + limit + " : i32");
      line("scf.condition(" + go + ") " + count + ", " + passed.name + " : " + types);
    });
    line("} do {");
    line("^bb0(" + countIn + ": i32, " + tileIn + ": " + type(a) + "):");
    scoped([&] {
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
    scoped([&] {
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
      scoped([&] {
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
      uint32_t kind = pick(100);
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
  std::ostringstream text;
  std::vector<Tile> tiles;
  unsigned next = 0;
  int64_t row = 64; // lanes of most tiles
  bool inWhile = false;
  int64_t kept[arrayCount] = {workElements, workElements, workElements, workElements, 0, 0,
                              workElements, workElements, workElements};
};

struct Arrays {
  std::vector<float> f32 = std::vector<float>(arrayElements);
  std::vector<int32_t> i32 = std::vector<int32_t>(arrayElements);
  std::vector<_Float16> f16 = std::vector<_Float16>(arrayElements);
  std::vector<int8_t> i8 = std::vector<int8_t>(arrayElements);
  std::vector<int64_t> i64 = std::vector<int64_t>(arrayElements);
  std::vector<int8_t> i1 = std::vector<int8_t>(arrayElements);
  // By their bits: any NaN is as good as another, see `sameBits`.
  std::vector<uint16_t> bf16 = std::vector<uint16_t>(arrayElements);
  std::vector<uint8_t> e4m3 = std::vector<uint8_t>(arrayElements);
  std::vector<uint8_t> e5m2 = std::vector<uint8_t>(arrayElements);

  // Kernels read the work part; the others are copies of it.
  explicit Arrays(uint32_t seed) {
    std::mt19937 random(seed);
    constexpr float special[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, 65504.f};
    for (int64_t i = 0; i < workElements; ++i) {
      f32[i] = random() % 16 ? float(int32_t(random())) / 65536.f : special[random() % 8];
      i32[i] = random() % 4 ? int32_t(random() % 64) - 32 : int32_t(random());
      f16[i] = _Float16(f32[random() % (i + 1)]);
      i8[i] = int8_t(random());
      uint32_t bits = std::bit_cast<uint32_t>(f32[random() % (i + 1)]);
      bf16[i] = uint16_t(bits >> 16);
      e4m3[i] = uint8_t(random());
      e5m2[i] = uint8_t(random());
    }
    repeat(f32);
    repeat(i32);
    repeat(f16);
    repeat(i8);
    repeat(bf16);
    repeat(e4m3);
    repeat(e5m2);
  }

private:
  template <typename T> static void repeat(std::vector<T> &array) {
    for (int64_t i = workElements; i < arrayElements; i += workElements)
      std::copy_n(array.begin(), workElements, array.begin() + i);
  }
};

template <typename T> bool sameBytes(const std::vector<T> &a, const std::vector<T> &b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename T>
::testing::AssertionResult same(const char *name, const std::vector<T> &got,
                                const std::vector<T> &want) {
  if (sameBytes(got, want))
    return ::testing::AssertionSuccess();
  for (size_t i = 0; i < got.size(); ++i) {
    bool equal = got[i] == want[i];
    if constexpr (!std::is_integral_v<T>)
      equal |= std::isnan(double(got[i])) && std::isnan(double(want[i]));
    if (!equal)
      return ::testing::AssertionFailure() << name << "[" << i << "] is " << double(got[i])
                                           << ", the interpreter has " << double(want[i]);
  }
  return ::testing::AssertionSuccess();
}

// Floats as bits, of which those above `infinity` are NaN in either sign.
template <typename T>
::testing::AssertionResult sameBits(const char *name, const std::vector<T> &got,
                                    const std::vector<T> &want, unsigned infinity) {
  if (sameBytes(got, want))
    return ::testing::AssertionSuccess();
  constexpr unsigned sign = 1u << (8 * sizeof(T) - 1);
  for (size_t i = 0; i < got.size(); ++i) {
    unsigned a = got[i], b = want[i];
    bool bothNan = (a & ~sign) > infinity && (b & ~sign) > infinity;
    bool bothZero = !(a & ~sign) && !(b & ~sign);
    if (a != b && !bothNan && !bothZero)
      return ::testing::AssertionFailure()
             << name << "[" << i << "] is 0x" << std::hex << a << ", the interpreter has 0x" << b;
  }
  return ::testing::AssertionSuccess();
}

unsigned numberFrom(const char *name, unsigned otherwise) {
  const char *text = std::getenv(name);
  return text ? unsigned(std::strtoul(text, nullptr, 10)) : otherwise;
}

// One for many kernels of a thread, as it takes as long to make as they to interpret; not for all,
// as it keeps every type and constant. Nothing of a kernel may be left when the next one asks.
mlir::MLIRContext &threadContext() {
  static mlir::DialectRegistry *registry = [] {
    auto *made = new mlir::DialectRegistry;
    pipeline::registerCpuPipeline(*made);
    ref::registerReferenceModels(*made);
    return made;
  }();
  thread_local std::optional<mlir::MLIRContext> context;
  thread_local unsigned uses = 0;
  if (uses++ % 64 == 0)
    context.emplace(*registry, mlir::MLIRContext::Threading::DISABLED);
  return *context;
}

// What the interpreter makes of a kernel. Gives what is wrong with it, or nothing.
std::string interpret(const std::string &source, Arrays &into) {
  mlir::MLIRContext &context = threadContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (!module)
    return "the fuzzer writes bad IR";
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  auto interpreter = ref::Interpreter::prepare(function, {});
  if (!interpreter)
    return explain(interpreter.error());
  ref::Launch launch;
  launch.grid = {2, 1, 1};
  auto add = [&](auto &array, const char *name) {
    launch.arguments.push_back(int64_t(reinterpret_cast<uintptr_t>(array.data())));
    launch.memory.push_back({.base = reinterpret_cast<uintptr_t>(array.data()),
                             .bytes = array.size() * sizeof(array[0]),
                             .name = name});
  };
  add(into.f32, "f32");
  add(into.i32, "i32");
  add(into.f16, "f16");
  add(into.i8, "i8");
  add(into.i64, "i64");
  add(into.i1, "i1");
  add(into.bf16, "bf16");
  add(into.e4m3, "e4m3");
  add(into.e5m2, "e5m2");
  launch.arguments.push_back(int64_t(100));
  auto done = interpreter->launch(launch);
  return done ? "" : explain(done.error());
}

// Most kernels for this processor, some for those that have less.
const target::CpuFeatureSet &featuresFor(unsigned seed) {
  static const std::vector<target::CpuFeatureSet> levels = [] {
    std::vector<target::CpuFeatureSet> out;
    for (const char *level : {"native", "native", "x86-64-v3", "x86-64"})
      if (auto features = target::cpuLevel(level);
          features && target::hostCpuFeatures().covers(*features))
        out.push_back(*features);
    return out;
  }();
  return levels[seed % levels.size()];
}

// Gives what is wrong with it, or nothing.
std::string compileAndRun(const std::string &source, Arrays &into, unsigned seed) {
  pipeline::CpuOptions options;
  options.features = featuresFor(seed);
  options.contract = false; // the interpreter never does
  // What is tested is before LLVM, which takes three quarters of the time if it optimises.
  options.optimize = seed / 4 % 4 == 0;
  auto kernel = compileForCpu(threadContext(), source, options);
  if (!kernel.kernel)
    return kernel.failure;
  kernel.run(Arguments()
                 .add(into.f32.data())
                 .add(into.i32.data())
                 .add(into.f16.data())
                 .add(into.i8.data())
                 .add(into.i64.data())
                 .add(into.i1.data())
                 .add(into.bf16.data())
                 .add(into.e4m3.data())
                 .add(into.e5m2.data())
                 .add(int32_t(100)),
             {2, 1, 1});
  return "";
}

::testing::AssertionResult same(const Arrays &got, const Arrays &want) {
  ::testing::AssertionResult results[] = {same("f32", got.f32, want.f32),
                                          same("i32", got.i32, want.i32),
                                          same("f16", got.f16, want.f16),
                                          same("i8", got.i8, want.i8),
                                          same("i64", got.i64, want.i64),
                                          same("i1", got.i1, want.i1),
                                          sameBits("bf16", got.bf16, want.bf16, 0x7f80),
                                          sameBits("e4m3", got.e4m3, want.e4m3, 0x7e),
                                          sameBits("e5m2", got.e5m2, want.e5m2, 0x7c)};
  for (auto &result : results)
    if (!result)
      return result;
  return results[0];
}

bool isKernel(const std::string &source) {
  mlir::MLIRContext &context = threadContext();
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  return bool(mlir::parseSourceString<mlir::ModuleOp>(source, &context));
}

// Leaves out as many lines as it can while `fails` holds: pieces of half the kernel, then of a
// quarter, and so on. What does not parse does not count; a loop goes with all of its lines.
std::string shrunk(const std::string &source,
                   const std::function<bool(const std::string &)> &fails) {
  std::vector<std::string> lines;
  std::istringstream text(source);
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  auto joined = [&](size_t from, size_t to) {
    std::string out;
    for (size_t i = 0; i < lines.size(); ++i)
      if (i < from || i >= to)
        out += lines[i] + "\n";
    return out;
  };
  for (bool again = true; again;) {
    again = false;
    for (size_t piece = lines.size() / 2; piece; piece /= 2)
      // From the end: what nobody uses any more goes first.
      for (size_t end = lines.size() - 1; end > piece; --end) {
        std::string less = joined(end - piece, end);
        if (!isKernel(less) || !fails(less))
          continue;
        lines.erase(lines.begin() + ptrdiff_t(end - piece), lines.begin() + ptrdiff_t(end));
        end = std::min(end, lines.size());
        again = true;
      }
  }
  return joined(0, 0);
}

enum class Verdict { Same, NoKernel, NotCompiled, Different };

// Runs a kernel on both. `compiled`: what the compiler reads in place of the kernel.
Verdict judge(const std::string &source, const std::string &compiled, unsigned seed,
              std::string &problem) {
  const Arrays before(seed);
  Arrays want = before, got = before;
  if (problem = interpret(source, want); !problem.empty())
    return Verdict::NoKernel; // it reads memory that is not there
  if (problem = compileAndRun(compiled, got, seed); !problem.empty())
    return Verdict::NotCompiled;
  auto equal = same(got, want);
  problem = equal ? "" : equal.message();
  return equal ? Verdict::Same : Verdict::Different;
}

bool disagree(const std::string &source, const std::string &compiled, unsigned seed) {
  std::string problem;
  return judge(source, compiled, seed, problem) == Verdict::Different;
}

// The ops of a kernel, one a line.
void count(const std::string &source, std::map<std::string, unsigned> &ops) {
  std::istringstream text(source);
  for (std::string line; std::getline(text, line);) {
    size_t equals = line.find(" = ");
    bool defines = line.find_first_not_of(' ') == line.find('%') && equals != std::string::npos;
    size_t from = defines ? equals + 3 : line.find_first_not_of(' ');
    size_t dot = line.find('.', from), to = from;
    while (to < line.size() && (std::isalnum(line[to]) || line[to] == '_' || line[to] == '.'))
      ++to;
    if (dot < to)
      ++ops[line.substr(from, to - from)];
  }
}

double processorSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

// Two threads take seeds until there are enough kernels, or their processor time is up, or three
// times as much by the clock: a busy machine takes longer for as many.
TEST(CpuFuzz, AgreesWithTheInterpreter) {
  unsigned rounds = numberFrom("NEREID_FUZZ_ROUNDS", 3000),
           seed = numberFrom("NEREID_FUZZ_SEED", 1),
           seconds = numberFrom("NEREID_FUZZ_SECONDS", 80);
  double start = processorSeconds();
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3 * seconds);
  std::mutex mutex;
  std::map<std::string, unsigned> coverage;
  std::atomic<unsigned> next = 0, done = 0;
  struct Failure {
    unsigned seed;
    Verdict verdict;
    std::string problem;
  };
  std::optional<Failure> failed;
  auto work = [&] {
    for (unsigned i; (i = next++) < rounds && processorSeconds() - start < seconds &&
                     std::chrono::steady_clock::now() < end;) {
      std::string source = Writer(seed + i).kernel();
      std::string problem;
      Verdict verdict = judge(source, source, seed + i, problem);
      ++done;
      std::lock_guard lock(mutex);
      count(source, coverage);
      if (verdict == Verdict::Same)
        continue;
      if (!failed || seed + i < failed->seed)
        failed = {seed + i, verdict, problem};
      next = rounds;
    }
  };
  std::thread other(work);
  work();
  other.join();
  std::printf("%u kernels from seed %u, %.0f a second of processor time, %zu ops:", done.load(),
              seed, done.load() / (processorSeconds() - start), coverage.size());
  for (const auto &[name, times] : coverage)
    std::printf(" %s %u", name.c_str(), times);
  std::printf("\n");
  if (!failed)
    return;
  auto fails = [&](const std::string &kernel) {
    std::string problem;
    return judge(kernel, kernel, failed->seed, problem) == failed->verdict;
  };
  FAIL() << "seed " << failed->seed << ": " << failed->problem << "\nshrunk:\n"
         << shrunk(Writer(failed->seed).kernel(), fails) << "seed " << failed->seed << ": "
         << failed->problem;
}

// The fuzzer is worth what it finds: a compiler with one of these faults, planted by changing what
// it reads, must disagree with the interpreter within a few kernels.
TEST(CpuFuzz, CatchesPlantedMiscompiles) {
  struct Fault {
    const char *pattern, *instead;
  };
  const Fault faults[] = {
      {"arith\\.subi", "arith.addi"},
      {"arith\\.cmpi slt", "arith.cmpi sle"},
      {"arith\\.cmpi ule", "arith.cmpi ult"},
      {"arith\\.extsi", "arith.extui"},
      {"arith\\.extui", "arith.extsi"},
      {"arith\\.minui", "arith.minsi"},
      {"tile\\.shrs", "tile.shru"},
      {"tile\\.divui", "tile.divsi"},
      {"tile\\.remsi", "tile.remui"},
      {"arith\\.uitofp", "arith.sitofp"},
      {"tile\\.mulhiui", "arith.muli"},
      {"arith\\.maxnumf", "arith.maximumf"},
      {"arith\\.cmpf une", "arith.cmpf one"},
      {"math\\.floor", "math.ceil"},
      {"tile\\.fp_to_int (%\\w+(#\\d)?) unsigned", "tile.fp_to_int $1"},
      // Lanes, places, order.
      {" reverse", ""},
      {"arange 0 to 64", "arange 1 to 65"},
      {"#0", "#1"},
      {"(tile\\.store [^\\n]*) mask \\S+ : [^:]* : ", "$1 : "},
      {" other \\S+ : tensor\\S* : ", " : "},
      {"(tile\\.dot [^\\n]*) unsigned", "$1"},
      {"(tile\\.dot [^:]*) :", "$1 unsigned :"},
      {"<xor>", "<add>"},
      {" rounding <rtz>", ""},
      {"(tile\\.atomic_cas [^,]*, [^,]*, [^,]*, )([^,]*), (\\S*) :", "$1$3, $2 :"},
      {"(tile\\.histogram \\S+) mask \\S+ : \\S+", "$1"},
      {"(scf\\.for %\\w+ = %\\w+ to \\S+ step \\S+ iter_args\\()(%\\w+)( = [^,]*, )(%\\w+)",
       "$1$4$3$2"},
  };
  // Two threads take one fault after the other until the time is up: a slow machine looks for
  // fewer.
  auto end = std::chrono::steady_clock::now() +
             std::chrono::seconds(numberFrom("NEREID_FUZZ_SECONDS", 90));
  std::atomic<unsigned> next = 0, caught = 0, tried = 0;
  std::mutex mutex;
  std::string missed;
  auto work = [&] {
    for (unsigned i; (i = next++) < std::size(faults);) {
      const Fault &fault = faults[i];
      std::regex pattern(fault.pattern);
      bool found = false;
      for (unsigned round = 1; round < 1500 && !found; ++round) {
        if (std::chrono::steady_clock::now() > end)
          return;
        std::string source = Writer(round).kernel();
        std::string changed = std::regex_replace(source, pattern, fault.instead);
        if (changed == source)
          continue;
        // The change may not fit the types here.
        found = isKernel(changed) && disagree(source, changed, round);
      }
      ++tried;
      caught += found;
      if (found)
        continue;
      std::lock_guard lock(mutex);
      missed += std::string("\n") + fault.pattern + " -> " + fault.instead;
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(missed, "") << "not caught";
  EXPECT_GT(tried, 0u) << "no time";
  std::printf("%u of %u planted miscompiles caught, of %zu\n", caught.load(), tried.load(),
              std::size(faults));
}

// A failing kernel is cut down to the lines that matter: here those that a planted fault needs.
TEST(CpuFuzz, ShrinksWhatFails) {
  const std::regex fault("arith\\.subi");
  auto planted = [&](const std::string &source) {
    return std::regex_replace(source, fault, "arith.addi");
  };
  for (unsigned round = 1; round < 100; ++round) {
    std::string source = Writer(round).kernel();
    auto fails = [&](const std::string &less) { return disagree(less, planted(less), round); };
    if (planted(source) == source || !fails(source))
      continue;
    std::string less = shrunk(source, fails);
    auto lines = [](const std::string &text) { return std::count(text.begin(), text.end(), '\n'); };
    EXPECT_TRUE(fails(less));
    EXPECT_NE(less.find("arith.subi"), std::string::npos);
    EXPECT_LE(lines(less), lines(source) / 5) << less;
    std::printf("%d lines of %d are left\n", int(lines(less)), int(lines(source)));
    return;
  }
  FAIL() << "no kernel shows the fault";
}

} // namespace
