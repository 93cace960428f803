// Random loops that loads run ahead of: sums of products, rows that are read again.
#pragma once

#include "KernelProducts.h"

#include <optional>

namespace nereid::test {

// Writes what GPUs have most code for.
class StepWriter : public ProductWriter {
protected:
  using ProductWriter::ProductWriter;

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

  // A product summed over steps, perhaps with a second one behind it as in attention.
  struct Sum {
    int64_t m, n, k, width;  // the first product is m x n x k, the second m x width x n
    unsigned array;          // of small numbers
    bool isSecond, isOfRows; // `isOfRows`: scores less the greatest of their row
    std::string sums = "f32";
    std::optional<Stream> a, b, c; // of the right operand of the second product: c
    Tile resident = {"", "", {}};  // in place of a
    std::vector<Stream *> streams;
    bool addsInSteps = false;
    std::string addsTo;
    Tile first, count, by, zero, one;

    Shape shape() const { return {m, isSecond ? width : n}; }
  };
  // Its operands, and the numbers of its loop.
  void begin(Sum &of) {
    bool isResident = chance(30);
    of.isOfRows = of.isSecond && chance(50);
    std::string base = "%q" + std::to_string(of.array), element = smallElementsText[of.array];
    // Bytes are multiplied as they are, or as halves, on either side.
    bool mayBeBytes = !mayWrite(3) && !of.isSecond && chance(50),
         isWhole = mayBeBytes && chance(40);
    if (isWhole) {
      base = "%p3";
      element = "i8";
      of.sums = "i32";
      isResident = false;
    }
    auto made = [&](const Shape &shape) {
      return mayBeBytes && of.array < 2 && !isWhole && chance(50)
                 ? stream("%p3", "i8", element, shape)
                 : stream(base, element, element, shape);
    };
    of.a = made({of.m, of.k});
    of.b = made({of.k, of.n});
    of.streams = {&*of.b};
    if (of.isSecond)
      of.streams.push_back(&of.c.emplace(stream(base, element, element, {of.n, of.width})));
    if (isResident)
      of.resident = small(of.array, {of.m, of.k});
    else
      of.streams.push_back(&*of.a);
    of.addsInSteps = mayWrite(0) && of.sums == "f32" && chance(20);
    if (of.addsInSteps)
      of.addsTo = pointers(0, linear(of.shape()), Access::Write);
  }
  // What a step adds to `acc`.
  Tile sumOfStep(const Sum &of, const Tile &step, const Tile &acc) {
    Tile left = of.resident.name.empty() ? piece(*of.a, step) : of.resident,
         right = piece(*of.b, step);
    Shape shape = of.shape();
    if (of.isSecond) {
      Tile scores = dot(left, right, constant({of.m, of.n}, "f32"));
      if (of.isOfRows)
        scores = lessGreatest(scores);
      Tile weights = converted(scores, "arith.truncf", smallElementsText[of.array]);
      return dot(weights, piece(*of.c, step), acc);
    }
    if (chance(70))
      return dot(left, right, acc);
    // Summed by hand.
    Tile product = dot(left, right, constant(shape, of.sums));
    return define(shape, of.sums,
                  (of.sums == "f32" ? "arith.addf " : "arith.addi ") + acc.name + ", " +
                      product.name + " : " + type(acc));
  }
  // Each row less its greatest.
  Tile lessGreatest(const Tile &scores) {
    int64_t m = scores.shape[0];
    Tile most = define({m}, "f32",
                       "tile.reduce(" + scores.name + ") axis 1 : (" + type(scores) + ") -> " +
                           type({m}, "f32") +
                           " {\n  ^bb0(%l: f32, %r: f32):\n    %c = arith.maxnumf %l, "
                           "%r : f32\n    tile.yield %c : f32\n  }\n");
    Tile column = define({m, 1}, "f32",
                         "tile.expand_dims " + most.name + " axis 1 : " + type(most) + " -> " +
                             type({m, 1}, "f32"));
    Tile all =
        define(scores.shape, "f32",
               "tile.broadcast " + column.name + " : " + type(column) + " -> " + type(scores));
    return define(scores.shape, "f32",
                  "arith.subf " + scores.name + ", " + all.name + " : " + type(all));
  }
  // One loop, whose results are the sum and the pointers of the streams that are carried.
  Tile sumLoop(Sum &of, const Tile &start) {
    Shape shape = of.shape();
    if (of.addsInSteps)
      touch(0, Access::Write);
    std::string i = fresh(), carried = fresh(), results = fresh(), types = type(start);
    std::string args = carried + " = " + start.name;
    std::vector<Stream *> moving;
    for (Stream *one : of.streams)
      if (one->isCarried) {
        one->pointer = fresh();
        args += ", " + one->pointer + " = " + one->start;
        types += ", " + one->types();
        moving.push_back(one);
      }
    size_t number = 1 + moving.size();
    line(results + (number > 1 ? ":" + std::to_string(number) : "") + " = scf.for " + i + " = " +
         of.first.name + " to " + of.count.name + " step " + of.by.name + " iter_args(" + args +
         ") -> (" + types + ") : i32 {");
    inRegion([&] {
      Tile step{i, "i32", {}};
      tiles.push_back(step);
      Tile made = sumOfStep(of, step, {carried, of.sums, shape});
      if (chance(20))
        elementwise();
      if (of.addsInSteps) // in the same threads in each step
        define(shape, of.sums,
               "tile.atomic_rmw <fadd>, <relaxed>, <gpu>, " + of.addsTo + ", " + made.name + " : " +
                   type(shape, "!tile.ptr<f32>") + ", " + type(made) + " -> " + type(made));
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
    return Tile{number > 1 ? results + "#0" : results, of.sums, shape};
  }
  // The loop within a loop over tiles, which differ in where they begin.
  Tile tilesOfSums(Sum &of, const Tile &start) {
    Shape shape = of.shape();
    std::string tile = fresh(), carried = fresh(), results = fresh();
    Tile count = trips();
    line(results + " = scf.for " + tile + " = " + of.zero.name + " to " + count.name + " step " +
         of.one.name + " iter_args(" + carried + " = " + start.name + ") -> (" + type(start) +
         ") : i32 {");
    inRegion([&] {
      Tile number{tile, "i32", {}};
      Tile begin =
          splat(of.sums == "i32" ? number : scalar("f32", "arith.sitofp " + tile + " : i32 to f32"),
                shape);
      if (chance(60))
        for (Stream *one : of.streams)
          if (one->isCarried) {
            Tile far = splat(number, one->stored);
            std::string moved = fresh();
            line(moved + " = tile.addptr " + one->start + ", " + far.name + " : " + one->types() +
                 ", " + type(far));
            one->start = moved;
          }
      Tile made = sumLoop(of, begin);
      if (mayWrite(0) && of.sums == "f32" && chance(40))
        line("tile.store " + pointers(0, linear(shape), Access::Write) + ", " + made.name + " : " +
             type(shape, "!tile.ptr<f32>") + ", " + type(made));
      Tile next = define(shape, of.sums,
                         (of.sums == "f32" ? "arith.addf " : "arith.addi ") + carried + ", " +
                             made.name + " : " + type(made));
      line("scf.yield " + next.name + " : " + type(next));
    });
    line(chance(50) ? "} {tile.flatten}" : "}");
    return Tile{results, of.sums, shape};
  }

  void steps() {
    std::optional<Tile> left;
    scoped([&] {
      const int64_t extents[] = {16, 32, 64, 64};
      int64_t m = chance(10) ? 128 : extents[pick(4)], n = extents[pick(4)], k = extents[pick(4)],
              width = extents[pick(3)];
      unsigned array = pick(smallArrays);
      Sum of{.m = m,
             .n = n,
             .k = k,
             .width = width,
             .array = array,
             .isSecond = array < 2 && chance(35),
             .isOfRows = false};
      begin(of);
      Tile sum = constant(of.shape(), of.sums);
      constant({}, "i32"); // one more value for what the steps compute beside
      of.one = scalar("i32", "arith.constant 1 : i32");
      of.zero = scalar("i32", "arith.constant 0 : i32");
      of.first = chance(80) ? of.zero : scalar("i32", "arith.constant 1 : i32");
      of.count = trips();
      of.by = chance(80) ? of.one : scalar("i32", "arith.constant 2 : i32");
      left = chance(70) ? sumLoop(of, sum) : tilesOfSums(of, sum);
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
  struct Row {
    Shape shape;
    unsigned from, to; // arrays
    std::string element, target;
    Tile columns;
    Tile number, zero, one, by; // of steps; `by`: elements of a step
    Tile start, limit;          // the first element; where the mask ends
    bool isMasked = false;
    Tile shift; // of what is stored, from what is loaded
    bool isInPlace = false;
  };
  Tile constantOf(int64_t value) {
    return scalar("i32", "arith.constant " + std::to_string(value) + " : i32");
  }
  Tile below(int64_t limit) {
    return scalar("i32", "tile.remui %n, " + constantOf(limit).name + " : i32");
  }
  Row rowToKeep() {
    Row of;
    const int64_t extents[] = {32, 128, 128, 256, 512, 1024};
    int64_t count = extents[pick(6)], most = std::min<int64_t>(6, 3000 / count);
    of.shape = {count};
    of.from = workArray();
    of.to = chance(70) ? of.from : workArray();
    of.element = arrayElementsText[of.from];
    of.target = arrayElementsText[of.to];
    of.columns =
        define(of.shape, "i32",
               "tile.arange 0 to " + std::to_string(count) + " : " + type(of.shape, "i32"));
    of.number = chance(50) ? constantOf(pick(unsigned(most) + 1)) : below(most + 1);
    of.zero = constantOf(0);
    of.one = constantOf(1);
    of.by = constantOf(count);
    of.start = constantOf(isAligned && chance(70) ? 16 * pick(3) : pick(40));
    of.limit = chance(50) ? constantOf(int64_t(pick(unsigned(most * count)))) : below(most * count);
    of.isMasked = chance(50);
    // Where stores go: to the row itself, a step beyond, behind it, or who knows.
    of.shift = chance(40)   ? of.zero
               : chance(30) ? of.by
               : chance(40) ? constantOf(most * count)
               : chance(50) ? constantOf(pick(300))
                            : below(700);
    of.isInPlace = of.from == of.to && of.shift.name == of.zero.name;
    return of;
  }
  // The elements of a step, `further` on if it is given.
  Tile placesOf(const Row &of, const Tile &step, const Tile *further) {
    Tile at = scalar("i32", "arith.muli " + step.name + ", " + of.by.name + " : i32");
    if (further)
      at = scalar("i32", "arith.addi " + at.name + ", " + further->name + " : i32");
    if (chance(50)) {
      at = scalar("i32", "arith.addi " + at.name + ", " + of.start.name + " : i32");
      Tile all = splat(at, of.shape);
      return define(of.shape, "i32",
                    "arith.addi " + all.name + ", " + of.columns.name + " : " + type(all));
    }
    Tile all = splat(at, of.shape), first = splat(of.start, of.shape);
    Tile sum = define(of.shape, "i32",
                      "arith.addi " + of.columns.name + ", " + all.name + " : " + type(all));
    return define(of.shape, "i32",
                  "arith.addi " + sum.name + ", " + first.name + " : " + type(sum));
  }
  std::string maskOf(const Row &of, const Tile &step) {
    if (!of.isMasked)
      return "";
    Tile all = splat(scalar("i32", "arith.muli " + step.name + ", " + of.by.name + " : i32"),
                     of.shape),
         bound = splat(of.limit, of.shape);
    Tile at = define(of.shape, "i32",
                     "arith.addi " + all.name + ", " + of.columns.name + " : " + type(all));
    Tile in =
        define(of.shape, "i1", "arith.cmpi slt, " + at.name + ", " + bound.name + " : " + type(at));
    return " mask " + in.name + " : " + type(in);
  }
  // One loop over the row, from `acc` on. The last one stores more often, also without a barrier,
  // where each thread has its own.
  Tile loopOverRow(const Row &of, const Tile &acc, bool isLast) {
    bool stores = mayWrite(of.to) && chance(isLast ? 60 : 20);
    Tile start = acc.name.empty() ? constant(of.shape, of.element) : acc;
    std::string i = fresh(), carried = fresh(), results = fresh(), types = type(start);
    line(results + " = scf.for " + i + " = " + of.zero.name + " to " + of.number.name + " step " +
         of.one.name + " iter_args(" + carried + " = " + start.name + ") -> (" + types +
         ") : i32 {");
    scoped([&] {
      Tile step{i, "i32", {}};
      tiles.push_back(step);
      std::string mask = maskOf(of, step), options = mask;
      if (of.isMasked && chance(60)) {
        Tile other = constant(of.shape, of.element);
        options += " other " + other.name + " : " + type(other);
      }
      Tile read = define(
          of.shape, of.element,
          "tile.load " +
              pointersTo("%p" + std::to_string(of.from), of.element, placesOf(of, step, nullptr)) +
              options + " : " + type(of.shape, "!tile.ptr<" + of.element + ">") + " -> " +
              type(of.shape, of.element));
      Tile next = define(of.shape, of.element,
                         (isFloat(of.element) ? "arith.maxnumf " : "arith.addi ") + carried + ", " +
                             read.name + " : " + type(read));
      if (stores)
        storeRow(of, step, next, mask, of.isInPlace && isLast && chance(50));
      line("scf.yield " + next.name + " : " + types);
    });
    line("}");
    Tile result{results, of.element, of.shape};
    tiles.push_back(result);
    return result;
  }
  void storeRow(const Row &of, const Tile &step, const Tile &next, const std::string &mask,
                bool isApart) {
    if (!isApart)
      line("tile.barrier");
    Tile value = of.element == of.target && chance(50) ? next : some(of.shape, of.target);
    line("tile.store " +
         pointersTo("%p" + std::to_string(of.to), of.target, placesOf(of, step, &of.shift)) + ", " +
         value.name + mask + " : " + type(of.shape, "!tile.ptr<" + of.target + ">") + ", " +
         type(value));
    if (!isApart)
      line("tile.barrier");
  }
  // A number that is stored between two loops.
  void storeBetween(const Row &of) {
    barrier();
    std::string place = fresh();
    Tile value = some({}, of.target);
    line(place + " = tile.addptr %p" + std::to_string(of.to) + ", " + below(1000).name +
         " : !tile.ptr<" + of.target + ">, i32");
    line("tile.store " + place + ", " + value.name + " : !tile.ptr<" + of.target + ">, " +
         of.target);
    barrier();
  }

  void again() {
    Tile left;
    scoped([&] {
      Row of = rowToKeep();
      barrier();
      unsigned loops = chance(60) ? 2 : 3;
      for (unsigned which = 0; which < loops; ++which) {
        bool isLast = which + 1 == loops;
        left = loopOverRow(of, left, isLast);
        if (!isLast && mayWrite(of.to) && chance(20))
          storeBetween(of);
      }
      touchAll();
    });
    tiles.push_back(left);
    keep(left);
  }
};

} // namespace nereid::test
