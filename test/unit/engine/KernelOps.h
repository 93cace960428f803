// Single random ops: arithmetic, shapes, reductions, memory.
#pragma once

#include "KernelText.h"

namespace nereid::test {

// Writes one op on values that are there, or a few that belong together.
class OpWriter : public KernelText {
protected:
  using KernelText::KernelText;

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

  void turn(const Tile &a) {
    if (a.shape.size() == 2)
      define({a.shape[1], a.shape[0]}, a.element,
             "tile.trans " + a.name + " [1, 0] : " + type(a) + " -> " +
                 type({a.shape[1], a.shape[0]}, a.element));
  }

  void flatten(const Tile &a) {
    int64_t count = elements(a.shape);
    Shape shape = a.shape.size() == 1 && count >= 4 ? Shape{count / 4, 4} : Shape{count};
    define(shape, a.element,
           "tile.reshape " + a.name + " : " + type(a) + " -> " + type(shape, a.element));
  }

  void stretch(const Tile &a) {
    if (a.shape.size() != 2 || (a.shape[0] != 1 && a.shape[1] != 1))
      return;
    Shape shape = a.shape;
    int64_t wide = chance(50) ? 16 : 4;
    shape[shape[0] == 1 ? 0 : 1] = wide;
    if (elements(shape) <= 2048)
      define(shape, a.element,
             "tile.broadcast " + a.name + " : " + type(a) + " -> " + type(shape, a.element));
  }

  void joinAndSplit(const Tile &a) {
    Tile b = some(a.shape, a.element);
    Shape shape = a.shape;
    shape.push_back(2);
    if (shape.size() > 3 || elements(shape) > 2048)
      return;
    Tile joined = define(shape, a.element,
                         "tile.join " + a.name + ", " + b.name + " : " + type(a) + " -> " +
                             type(shape, a.element));
    Tile first{fresh(), a.element, a.shape};
    text << "  " << first.name << ":2 = tile.split " << joined.name << " : " << type(joined)
         << " -> " << type(a) << "\n";
    tiles.push_back({first.name + "#0", a.element, a.shape});
    tiles.push_back({first.name + "#1", a.element, a.shape});
  }

  void concatenate(const Tile &a) {
    if (a.shape.size() != 1 || a.shape[0] > 1024)
      return;
    Tile b = some(a.shape, a.element);
    Shape shape = {a.shape[0] * 2};
    define(shape, a.element,
           "tile.cat " + a.name + ", " + b.name + " : " + type(a) + ", " + type(b) + " -> " +
               type(shape, a.element));
  }

  void gather(const Tile &a) {
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
  }

  void deepen(const Tile &a) {
    int64_t count = elements(a.shape);
    if (count < 8)
      return;
    Shape shapes[] = {{2, count / 8, 4}, {count / 4, 2, 2}, {4, 2, count / 8}, {1, count, 1}};
    Shape shape = shapes[pick(4)];
    define(shape, a.element,
           "tile.reshape " + a.name + " : " + type(a) + " -> " + type(shape, a.element));
  }

  void permute() {
    const Tile *deep = find([](const Tile &t) { return t.shape.size() == 3; });
    if (!deep)
      return;
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
  }

  void expand(const Tile &a) {
    if (a.shape.size() > 2)
      return;
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
    case 0:
      return turn(a);
    case 1:
      return flatten(a);
    case 2:
      return stretch(a);
    case 3:
      return joinAndSplit(a);
    case 4:
      return concatenate(a);
    case 5:
      return gather(a);
    case 6:
      return deepen(a);
    case 7:
      return permute();
    case 8:
      return expand(a);
    }
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
};

} // namespace nereid::test
