// Products of warp groups (PTX ISA, "Asynchronous warpgroup level matrix instructions"). Each of
// the four warps makes its 16 rows when it comes to the instruction. From there to the wait for the
// product's group nobody may write what it reads, nor touch the registers that it makes.
#include "PtxArithmetic.h"
#include "PtxBlock.h"

#include <bit>
#include <cstring>

namespace ptx {

namespace {

// A matrix in shared memory as a matrix descriptor gives it (PTX ISA, "Matrix descriptor",
// "Strides"): along the dimension that is contiguous it is cut into columns of 16 to 128 bytes,
// whose rows lie one behind the other, eight of them a pattern.
struct Matrix {
  uint64_t start, leading, stride; // in bytes
  unsigned width;                  // of a column
  unsigned mode;                   // of the permutation: 16 << mode is the width

  explicit Matrix(uint64_t descriptor)
      : start((descriptor & 0x3fff) << 4), leading((descriptor >> 16 & 0x3fff) << 4),
        stride((descriptor >> 32 & 0x3fff) << 4), mode(unsigned(4 - (descriptor >> 62)) & 3) {
    width = 16u << mode;
    if (descriptor & 0x3fff'c000'c000'c000)
      fail("the model does not know such a matrix descriptor");
  }
  // 16 bytes of which the first is the byte `inner` of what is contiguous, in row `outer`. Columns
  // that are permuted and contiguous along K are as wide as a product is deep, so that it moves on
  // in them by its start.
  uint64_t piece(unsigned inner, unsigned outer, bool isAlongK) const {
    uint64_t at = start;
    if (mode == 0)
      at += isAlongK ? outer / 8 * stride + outer % 8 * 16 + inner / 16 * leading
                     : outer / 8 * leading + outer % 8 * 16 + inner / 16 * stride;
    else if (isAlongK)
      at += outer / 8 * stride + outer % 8 * width + inner;
    else
      at += inner / width * leading + outer / 8 * stride + outer % 8 * width + inner % width;
    return at ^ ((at >> 7 & ((1u << mode) - 1)) << 4);
  }
};

double elementOf(const uint8_t *bytes, Type type) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, type.bytes);
  if (type.kind == Kind::Float) // tf32
    bits &= ~uint64_t(0x1fff);
  return toDouble(bits, type);
}

} // namespace

// --- registers ----------------------------------------------------------------------------------

void Multiprocessor::checkNotMade(unsigned index) const {
  if (current->madeBy[index] > warps[currentWarp].finished)
    fail("a register is read that a product makes which has not been waited for");
}
void Multiprocessor::checkMayWrite(unsigned index) const {
  if (current->readBy[index] > warps[currentWarp].finished)
    fail("a register is written that a product reads which has not been waited for");
  if (current->madeBy[index] > warps[currentWarp].finished)
    fail("a register is written that a product makes which has not been waited for");
}
// A product's register gets another name, as loops and merges of control flow give it: nothing that
// the machine does.
void Multiprocessor::renameProduct(unsigned to, unsigned from) {
  if (current->madeBy[to] != current->madeBy[from])
    checkMayWrite(to);
  current->registers[to] = current->registers[from];
  current->madeBy[to] = current->madeBy[from];
  current->writtenAfter[to] = current->writtenAfter[from];
}

// --- instructions -------------------------------------------------------------------------------

void Multiprocessor::groupProduct(unsigned warp, const Instruction &i) {
  Warp &own = warps[warp];
  if (i.has("mma_async"))
    return beginProduct(warp, i);
  if (i.has("fence")) {
    ++own.fences;
    return;
  }
  if (i.has("commit_group")) {
    ++own.committed;
    return;
  }
  as(warp, 0);
  auto most = uint32_t(get(i.operands[0]));
  if (own.committed <= most)
    return;
  own.finished = std::max(own.finished, own.committed - most);
  std::erase_if(own.productReads, [&](const std::pair<uint32_t, Range> &read) {
    if (read.first > own.finished)
      return false;
    shared.wasRead(read.second, warp, own.knows.seen.of[warp]);
    return true;
  });
}

// An operand that all threads give alike.
uint64_t Multiprocessor::uniform(unsigned warp, const Operand &operand, Type type) {
  as(warp, 0);
  uint64_t first = get(operand, type);
  for (unsigned l = 1; l < 32; ++l)
    if (as(warp, l); get(operand, type) != first)
      fail("the threads of a warp give a product different descriptors");
  return first;
}

void Multiprocessor::checkFenced(const Warp &own, unsigned index) {
  if (current->writtenAfter[index] >= own.fences)
    fail("a product reads a register that was written without `wgmma.fence` behind");
}

// 16 bytes of a matrix in shared memory, read until the product is done.
const uint8_t *Multiprocessor::readPiece(unsigned warp, uint64_t piece) {
  Range range{piece, 16};
  as(warp, 0);
  shared.beginReading(range, toucher(true));
  warps[warp].productReads.emplace_back(warps[warp].committed + 1, range);
  return shared.at(range.at);
}

namespace {
constexpr unsigned stepBytes = 32; // of a product's step along K
} // namespace

// The left operand's rows of this warp, row by row.
std::vector<double> Multiprocessor::leftInRegisters(unsigned warp, const Instruction &i) {
  const std::vector<Operand> &words = i.operands[1].list;
  unsigned k = i.k, e = stepBytes / k; // bytes of an element
  std::vector<double> A(16 * k);
  for (unsigned l = 0; l < 32; ++l) {
    as(warp, l);
    for (unsigned r = 0; r < 4; ++r) {
      auto word = uint32_t(get(words[r], {Kind::Bits, 4}));
      checkFenced(warps[warp], words[r].index);
      uint8_t bytes[4];
      std::memcpy(bytes, &word, 4);
      for (unsigned x = 0; x < 4 / e; ++x)
        A[(l / 4 + 8 * (r % 2)) * k + 4 / e * (l % 4 + 4 * (r / 2)) + x] =
            elementOf(bytes + x * e, i.types[1]);
    }
  }
  for (unsigned l = 0; l < 32; ++l)
    for (const Operand &one : words)
      lane(warp, l).readBy[one.index] = warps[warp].committed + 1;
  return A;
}

std::vector<double> Multiprocessor::leftInMemory(unsigned warp, const Instruction &i,
                                                 bool isAlongK) {
  Matrix matrix(uniform(warp, i.operands[1], {Kind::Bits, 8}));
  unsigned k = i.k, e = stepBytes / k, first = warp % 4 * 16;
  std::vector<double> A(16 * k);
  for (unsigned outer = 0; outer < (isAlongK ? 16 : k); ++outer)
    for (unsigned inner = 0; inner < 32; inner += 16) { // bytes, both ways two pieces
      unsigned along = isAlongK ? inner : first * e + inner;
      const uint8_t *bytes =
          readPiece(warp, matrix.piece(along, isAlongK ? first + outer : outer, isAlongK));
      for (unsigned x = 0; x < 16 / e; ++x) {
        unsigned at = inner / e + x;
        A[isAlongK ? outer * k + at : at * k + outer] = elementOf(bytes + x * e, i.types[1]);
      }
    }
  return A;
}

// The right operand, a step of K after the other.
std::vector<double> Multiprocessor::rightInMemory(unsigned warp, const Instruction &i,
                                                  bool isAlongK) {
  Matrix matrix(uniform(warp, i.operands[2], {Kind::Bits, 8}));
  unsigned n = i.n, k = i.k, e = stepBytes / k;
  std::vector<double> B(k * n);
  for (unsigned outer = 0; outer < (isAlongK ? n : k); ++outer)
    for (unsigned inner = 0; inner < (isAlongK ? stepBytes : n * e); inner += 16) {
      const uint8_t *bytes = readPiece(warp, matrix.piece(inner, outer, isAlongK));
      for (unsigned x = 0; x < 16 / e; ++x) {
        unsigned at = inner / e + x;
        B[isAlongK ? at * n + outer : outer * n + at] = elementOf(bytes + x * e, i.types[2]);
      }
    }
  return B;
}

void Multiprocessor::beginProduct(unsigned warp, const Instruction &i) {
  Warp &own = warps[warp];
  const auto &o = i.operands;
  Type sum = i.types[0];
  unsigned n = i.n, k = i.k;
  uint32_t group = own.committed + 1;
  if (warps.size() % 4)
    fail("a warp group has four warps");
  // All warps of a group begin the same products.
  std::vector<size_t> &begun = productsOfGroups[warp / 4];
  size_t pc = lane(warp, 0).pc;
  if (own.products == begun.size())
    begun.push_back(pc);
  else if (begun[own.products] != pc)
    fail("the warps of a group begin different products, here and at " +
         placeOf(begun[own.products]));
  ++own.products;

  bool hasRegisters = o[1].kind == Operand::List, isFloat = sum.isFloat();
  auto flag = [&](size_t at, uint64_t otherwise) {
    return at < o.size() ? uniform(warp, o[at], {Kind::Bits, 4}) : otherwise;
  };
  bool addsUp = uniform(warp, o[3], {Kind::Pred, 1});
  double sign = isFloat ? double(int32_t(flag(4, 1))) * double(int32_t(flag(5, 1))) : 1;
  bool isLeftAlongK = hasRegisters || !flag(6, 0), isRightAlongK = !flag(hasRegisters ? 6 : 7, 0);

  // What it reads: the sums, of which only products of the same form may be on their way, and the
  // left operand; both written before a fence.
  unsigned packed = sum.kind == Kind::Half ? 2 : 1;
  std::vector<double> D(16 * n);
  auto sumAt = [&](unsigned l, unsigned q) -> double & {
    return D[(l / 4 + 8 * (q / 2 % 2)) * n + 8 * (q / 4) + 2 * (l % 4) + q % 2];
  };
  if (o[0].list.size() * packed != n / 2)
    fail("a product of " + std::to_string(n) + " columns has " + std::to_string(o[0].list.size()) +
         " registers a thread");
  for (unsigned l = 0; l < 32; ++l) {
    as(warp, l);
    for (unsigned r = 0; r < o[0].list.size(); ++r) {
      unsigned index = o[0].list[r].index;
      if (current->readBy[index] > own.finished)
        checkMayWrite(index);
      if (current->madeBy[index] <= own.finished)
        checkFenced(own, index);
      for (unsigned x = 0; x < packed && addsUp; ++x) {
        uint64_t bits = current->registers[index] >> x * 16 & maskOf(sum.bytes);
        sumAt(l, r * packed + x) = isFloat ? toDouble(bits, sum) : double(signedOf(bits, 4));
      }
    }
  }

  std::vector<double> A =
      hasRegisters ? leftInRegisters(warp, i) : leftInMemory(warp, i, isLeftAlongK);
  std::vector<double> B = rightInMemory(warp, i, isRightAlongK);
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned x = 0; x < k; ++x) {
      double a = A[row * k + x] * sign;
      for (unsigned column = 0; column < n; ++column)
        D[row * n + column] += a * B[x * n + column];
    }

  for (unsigned l = 0; l < 32; ++l) {
    as(warp, l);
    for (unsigned r = 0; r < o[0].list.size(); ++r) {
      uint64_t out = 0;
      for (unsigned x = 0; x < packed; ++x) {
        double value = sumAt(l, r * packed + x);
        uint64_t bits = isFloat ? fromDouble(value, sum) : uint64_t(int64_t(value));
        out |= (bits & maskOf(sum.bytes)) << x * 16;
      }
      unsigned index = o[0].list[r].index;
      current->registers[index] = out;
      current->madeBy[index] = group;
    }
  }
}

} // namespace ptx
