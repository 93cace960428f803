// Random kernels in tile IR, for engines that are compared with the reference interpreter.
#pragma once

#include "KernelSteps.h"

#include <cctype>
#include <map>
#include <utility>

namespace nereid::test {

// Writes a well-formed kernel, one random op after the other.
class KernelWriter : public StepWriter {
public:
  /// Gpu: barriers stand where threads of a program exchange values by way of memory, as the
  /// language wants it there.
  enum class Kind { Any, Gpu };
  KernelWriter(uint32_t seed, Kind kind) : StepWriter(seed, kind == Kind::Gpu) {}

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
};

} // namespace nereid::test
