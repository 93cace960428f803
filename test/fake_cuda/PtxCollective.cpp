// What the lanes of a warp do together.
#include "PtxArithmetic.h"
#include "PtxBlock.h"

#include <bit>

namespace ptx {

void Multiprocessor::collective(unsigned warp, const Instruction &i,
                                const std::vector<unsigned> &active) {
  if (active.size() != 32)
    fail("some lanes have ended that `" + i.full + "` waits for");
  if (i.op == Op::shfl_) {
    uint64_t values[32];
    for (unsigned l = 0; l < 32; ++l)
      as(warp, l), values[l] = get(i.operands[1], {Kind::Bits, 4});
    for (unsigned l = 0; l < 32; ++l) {
      as(warp, l);
      unsigned by = unsigned(get(i.operands[2], {Kind::Bits, 4})),
               c = unsigned(get(i.operands[3], {Kind::Bits, 4}));
      unsigned segment = c >> 8 & 31, clamp = c & 31, low = l & segment,
               high = low | (clamp & ~segment), from = 0;
      bool isIn = true;
      if (i.has("bfly"))
        from = l ^ by, isIn = from <= high;
      else if (i.has("up"))
        from = l - by, isIn = int(l) - int(by) >= int(high);
      else if (i.has("down"))
        from = l + by, isIn = from <= high;
      else
        from = low | (by & 31 & ~segment), isIn = from <= high;
      if (!isIn)
        from = l;
      set(i.operands[0], values[from], {Kind::Bits, 4});
      if (i.operands[0].second >= 0)
        setRegister(unsigned(i.operands[0].second), isIn);
    }
  } else if (i.op == Op::vote_) {
    uint64_t bits = 0;
    for (unsigned l = 0; l < 32; ++l)
      as(warp, l), bits |= get(i.operands[1], {Kind::Pred, 1}) << l;
    for (unsigned l = 0; l < 32; ++l) {
      as(warp, l);
      if (i.has("ballot"))
        set(i.operands[0], bits, {Kind::Bits, 4});
      else
        set(i.operands[0], i.has("all") ? bits == 0xffffffff : bits != 0, {Kind::Pred, 1});
    }
  } else if (i.op == Op::redux_) {
    uint64_t sum = 0;
    for (unsigned l = 0; l < 32; ++l) {
      as(warp, l);
      uint64_t one = get(i.operands[1], {Kind::Bits, 4});
      Op how = i.has("add") ? Op::add_ : i.has("min") ? Op::min_ : Op::max_;
      sum = l == 0         ? one
            : i.has("and") ? sum & one
            : i.has("or")  ? sum | one
            : i.has("xor") ? sum ^ one
                           : arithmetic(how, i.types.back(), sum, one, 0, i);
    }
    for (unsigned l = 0; l < 32; ++l)
      as(warp, l), set(i.operands[0], sum, {Kind::Bits, 4});
  } else if (i.op == Op::activemask_) {
    for (unsigned l = 0; l < 32; ++l)
      as(warp, l), set(i.operands[0], 0xffffffff, {Kind::Bits, 4});
  } else if (i.op == Op::ldmatrix_) {
    loadMatrices(warp, i);
  } else if (i.op == Op::stmatrix_) {
    storeMatrices(warp, i);
  } else if (i.op == Op::mma_) {
    multiply(warp, i);
  } else if (i.op == Op::wgmma_) {
    groupProduct(warp, i);
  } else if (i.op == Op::tensormap_) {
    publishMap(warp, i);
  }
}

// Eight rows of 16 bytes each, by the addresses of eight lanes; lane l gets elements 2 (l % 4)
// and the next of row l / 4, or of that column.
void Multiprocessor::loadMatrices(unsigned warp, const Instruction &i) {
  const Operand &to = i.operands[0];
  bool isTransposed = i.has("trans");
  for (unsigned m = 0; m < to.list.size(); ++m) {
    uint16_t matrix[8][8];
    for (unsigned row = 0; row < 8; ++row) {
      as(warp, m * 8 + row);
      read(i, address(i.operands[1]), 16, reinterpret_cast<uint8_t *>(matrix[row]));
    }
    for (unsigned l = 0; l < 32; ++l) {
      as(warp, l);
      unsigned major = l / 4, minor = l % 4 * 2;
      uint32_t first = isTransposed ? matrix[minor][major] : matrix[major][minor],
               second = isTransposed ? matrix[minor + 1][major] : matrix[major][minor + 1];
      set(to.list[m], first | second << 16, {Kind::Bits, 4});
    }
  }
}

// The same the other way.
void Multiprocessor::storeMatrices(unsigned warp, const Instruction &i) {
  const Operand &from = i.operands[1];
  bool isTransposed = i.has("trans");
  for (unsigned m = 0; m < from.list.size(); ++m) {
    uint16_t matrix[8][8];
    for (unsigned l = 0; l < 32; ++l) {
      as(warp, l);
      uint32_t word = uint32_t(get(from.list[m], {Kind::Bits, 4}));
      unsigned major = l / 4, minor = l % 4 * 2;
      (isTransposed ? matrix[minor][major] : matrix[major][minor]) = uint16_t(word);
      (isTransposed ? matrix[minor + 1][major] : matrix[major][minor + 1]) = uint16_t(word >> 16);
    }
    for (unsigned row = 0; row < 8; ++row) {
      as(warp, m * 8 + row);
      write(i, address(i.operands[0]), 16, reinterpret_cast<const uint8_t *>(matrix[row]));
    }
  }
}

// The fragments of the PTX manual: with e elements of an operand in a word, lane l has of word r
// the row l / 4 + 8 (r % 2) and the columns e (l % 4) + 4 e (r / 2) and following of A, of B the
// column l / 4 and the rows e (l % 4) + 4 e r and following, and of the sums row l / 4 + 8 (r /
// 2), column 2 (l % 4) + r % 2.
void Multiprocessor::multiply(unsigned warp, const Instruction &i) {
  unsigned m = i.m, n = i.n, k = i.k;
  const Operand &d = i.operands[0], &a = i.operands[1], &b = i.operands[2], &c = i.operands[3];
  Type sum = i.types[0], left{}, right{};
  left = i.types[1];
  right = i.types[2];
  bool isTf32 = left.kind == Kind::Float && left.bytes == 4, isDouble = left.bytes == 8;
  unsigned word = isDouble ? 8 : 4, e = word / left.bytes;
  std::vector<double> A(m * k), B(k * n), D(m * n);
  auto element = [&](uint64_t bits, unsigned at, Type type) {
    if (isTf32)
      return double(std::bit_cast<float>(uint32_t(bits) & ~uint32_t(0x1fff)));
    return toDouble(bits >> at * type.bytes * 8 & maskOf(type.bytes), type);
  };
  for (unsigned l = 0; l < 32; ++l) {
    as(warp, l);
    unsigned group = l / 4, t = l % 4;
    for (unsigned r = 0; r < a.list.size(); ++r)
      for (unsigned x = 0; x < e; ++x)
        A[(group + 8 * (r % 2)) * k + e * t + 4 * e * (r / 2) + x] =
            element(get(a.list[r], {Kind::Bits, word}), x, left);
    for (unsigned r = 0; r < b.list.size(); ++r)
      for (unsigned x = 0; x < e; ++x)
        B[(e * t + 4 * e * r + x) * n + group] =
            element(get(b.list[r], {Kind::Bits, word}), x, right);
  }
  for (unsigned row = 0; row < m; ++row)
    for (unsigned column = 0; column < n; ++column)
      for (unsigned x = 0; x < k; ++x)
        D[row * n + column] += A[row * k + x] * B[x * n + column];
  unsigned packed = sum.kind == Kind::Half ? 2 : 1;
  for (unsigned l = 0; l < 32; ++l) {
    as(warp, l);
    // What it adds to is read before anything is written, which may be the same registers.
    std::vector<uint64_t> sums;
    for (const Operand &one : c.list)
      sums.push_back(get(one, {Kind::Bits, word == 8 ? 8u : 4u}));
    for (unsigned r = 0; r < d.list.size(); ++r) {
      uint64_t out = 0, before = sums[r];
      for (unsigned x = 0; x < packed; ++x) {
        unsigned q = r * packed + x;
        double product = D[(l / 4 + 8 * (q / 2)) * n + 2 * (l % 4) + q % 2];
        uint64_t own = before >> x * 16 & maskOf(sum.bytes);
        uint64_t bits = sum.isFloat() ? fromDouble(toDouble(own, sum) + product, sum)
                                      : uint64_t(int64_t(signedOf(own, 4)) + int64_t(product));
        out |= (bits & maskOf(sum.bytes)) << x * 16;
      }
      set(d.list[r], out, {Kind::Bits, word == 8 ? 8u : 4u});
    }
  }
}

} // namespace ptx
