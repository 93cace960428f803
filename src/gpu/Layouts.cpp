#include "gpu/Layouts.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace nereid::gpu {

LinearLayout::Basis unit(unsigned rank, unsigned dim, int64_t value) {
  LinearLayout::Basis basis(rank, 0);
  basis[dim] = int32_t(value);
  return basis;
}

bool isZero(const LinearLayout::Basis &basis) {
  return std::all_of(basis.begin(), basis.end(), [](int32_t value) { return value == 0; });
}

bool holdsCopies(const LinearLayout &layout) {
  return llvm::any_of(layout.bases(LayoutInput::Lane), isZero) ||
         llvm::any_of(layout.bases(LayoutInput::Warp), isZero);
}

namespace {

// Applies `change` to every basis; registers that then hold copies are dropped.
template <typename F> LinearLayout mapBases(const LinearLayout &layout, unsigned rank, F change) {
  LinearLayout out(rank);
  for (LayoutInput input :
       {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp, LayoutInput::Block})
    for (const LinearLayout::Basis &basis : layout.bases(input)) {
      LinearLayout::Basis changed = change(basis);
      if (input != LayoutInput::Register || !isZero(changed))
        out.addBasis(input, changed);
    }
  return out;
}

// Adds bits of `input` that walk from `from` to `to` along `dim`.
void addWalk(LinearLayout &layout, LayoutInput input, unsigned dim, int64_t from, int64_t to) {
  for (; from < to; from *= 2)
    layout.addBasis(input, unit(layout.rank(), dim, from));
}

void fillWithCopies(LinearLayout &layout, unsigned warps) {
  LinearLayout::Basis zero(layout.rank(), 0);
  while (layout.bits(LayoutInput::Lane) < 5)
    layout.addBasis(LayoutInput::Lane, zero);
  while (layout.bits(LayoutInput::Warp) < llvm::Log2_32(warps))
    layout.addBasis(LayoutInput::Warp, zero);
}

// Takes elements of the fastest dimension for a thread, then up to `lanesAlong` lanes along it;
// further lanes and the warps go by `others`, and what is left to further registers.
LinearLayout blocked(llvm::ArrayRef<int64_t> shape, unsigned perThread, unsigned lanesAlong,
                     llvm::ArrayRef<unsigned> order, llvm::ArrayRef<unsigned> others,
                     unsigned warps) {
  LinearLayout layout(shape.size());
  llvm::SmallVector<int64_t> done(shape.size(), 1);
  // Takes up to `bits` bits from the dimensions, in the order that is given.
  auto take = [&](LayoutInput input, unsigned bits, llvm::ArrayRef<unsigned> dims) {
    for (unsigned dim : dims)
      for (; bits && done[dim] < shape[dim]; --bits, done[dim] *= 2)
        layout.addBasis(input, unit(shape.size(), dim, done[dim]));
  };
  // A thread's own elements are adjacent along the fastest dimension.
  take(LayoutInput::Register, llvm::Log2_32(perThread), order.take_front(1));
  take(LayoutInput::Lane, llvm::Log2_32(lanesAlong), order.take_front(1));
  take(LayoutInput::Lane, 5 - layout.bits(LayoutInput::Lane), others);
  take(LayoutInput::Warp, llvm::Log2_32(warps), others);
  take(LayoutInput::Register, 64, order);
  fillWithCopies(layout, warps);
  return layout;
}

} // namespace

LinearLayout blockedLayout(llvm::ArrayRef<int64_t> shape, unsigned perThread,
                           llvm::ArrayRef<unsigned> order, unsigned warps) {
  return blocked(shape, perThread, 1, order, order, warps);
}

LinearLayout reducedLayout(llvm::ArrayRef<int64_t> shape, unsigned perThread, unsigned lanes,
                           llvm::ArrayRef<unsigned> order, unsigned warps) {
  llvm::SmallVector<unsigned> others(order.drop_front());
  others.push_back(order.front());
  return blocked(shape, perThread, lanes, order, others, warps);
}

LinearLayout turningLayout(llvm::ArrayRef<int64_t> shape, unsigned dim, unsigned warps) {
  unsigned other = 1 - dim;
  int64_t deep = std::min<int64_t>(4, shape[dim]), wide = std::min<int64_t>(8, shape[other]);
  LinearLayout layout(2);
  addWalk(layout, LayoutInput::Lane, dim, 1, deep);
  addWalk(layout, LayoutInput::Lane, other, 1, wide);
  for (auto [d, done] : {std::pair(other, wide), {dim, deep}})
    for (; done < shape[d]; done *= 2) {
      bool isWarp = layout.bits(LayoutInput::Warp) < llvm::Log2_32(warps);
      layout.addBasis(isWarp ? LayoutInput::Warp : LayoutInput::Register, unit(2, d, done));
    }
  fillWithCopies(layout, warps);
  return layout;
}

std::pair<unsigned, unsigned> mmaWarps(int64_t m, int64_t n, unsigned warps) {
  unsigned alongM = 1, alongN = 1;
  // Squarer pieces read fewer operands; rows come first because an instruction has twice as many.
  while (alongM * alongN < warps) {
    bool canM = alongM * 16 < m, canN = alongN * 8 < n;
    if (!canM && !canN)
      break;
    if (canM && (!canN || m / alongM >= n / alongN))
      alongM *= 2;
    else
      alongN *= 2;
  }
  return {alongM, alongN};
}

std::optional<LinearLayout> mmaAccumulator(llvm::ArrayRef<int64_t> shape, unsigned warps) {
  int64_t m = shape[0], n = shape[1];
  if (m < 16 || n < 8)
    return std::nullopt;
  auto [alongM, alongN] = mmaWarps(m, n, warps);
  LinearLayout layout(2);
  layout.addBasis(LayoutInput::Register, {0, 1});
  layout.addBasis(LayoutInput::Register, {8, 0});
  addWalk(layout, LayoutInput::Lane, 1, 2, 8);
  addWalk(layout, LayoutInput::Lane, 0, 1, 8);
  addWalk(layout, LayoutInput::Warp, 0, 16, 16 * alongM);
  addWalk(layout, LayoutInput::Warp, 1, 8, 8 * alongN);
  addWalk(layout, LayoutInput::Register, 1, 8 * alongN, n);
  addWalk(layout, LayoutInput::Register, 0, 16 * alongM, m);
  fillWithCopies(layout, warps);
  return layout;
}

std::optional<LinearLayout> mmaLhs(llvm::ArrayRef<int64_t> shape, int64_t n, unsigned warps,
                                   unsigned elementBytes) {
  int64_t m = shape[0], k = shape[1], word = 4 / elementBytes, depth = mmaDepth(elementBytes);
  if (m < 16 || n < 8 || k < depth)
    return std::nullopt;
  auto [alongM, alongN] = mmaWarps(m, n, warps);
  LinearLayout layout(2);
  addWalk(layout, LayoutInput::Register, 1, 1, word);
  layout.addBasis(LayoutInput::Register, {8, 0});
  addWalk(layout, LayoutInput::Register, 1, 4 * word, depth);
  addWalk(layout, LayoutInput::Lane, 1, word, 4 * word);
  addWalk(layout, LayoutInput::Lane, 0, 1, 8);
  addWalk(layout, LayoutInput::Warp, 0, 16, 16 * alongM);
  for (unsigned i = 1; i < alongN; i *= 2)
    layout.addBasis(LayoutInput::Warp, {0, 0});
  addWalk(layout, LayoutInput::Register, 1, depth, k);
  addWalk(layout, LayoutInput::Register, 0, 16 * alongM, m);
  fillWithCopies(layout, warps);
  return layout;
}

std::optional<LinearLayout> mmaRhs(llvm::ArrayRef<int64_t> shape, int64_t m, unsigned warps,
                                   unsigned elementBytes) {
  int64_t k = shape[0], n = shape[1], word = 4 / elementBytes, depth = mmaDepth(elementBytes);
  if (m < 16 || n < 8 || k < depth)
    return std::nullopt;
  auto [alongM, alongN] = mmaWarps(m, n, warps);
  LinearLayout layout(2);
  addWalk(layout, LayoutInput::Register, 0, 1, word);
  addWalk(layout, LayoutInput::Register, 0, 4 * word, depth);
  addWalk(layout, LayoutInput::Lane, 0, word, 4 * word);
  addWalk(layout, LayoutInput::Lane, 1, 1, 8);
  for (unsigned i = 1; i < alongM; i *= 2)
    layout.addBasis(LayoutInput::Warp, {0, 0});
  addWalk(layout, LayoutInput::Warp, 1, 8, 8 * alongN);
  addWalk(layout, LayoutInput::Register, 1, 8 * alongN, n);
  addWalk(layout, LayoutInput::Register, 0, depth, k);
  fillWithCopies(layout, warps);
  return layout;
}

int32_t placeAlongDepth(int32_t k, unsigned elementBytes, unsigned neighbours) {
  // Of an instruction's depth a thread has a word and what lies half the depth behind it: lanes
  // count words up to there, and their registers half depths.
  unsigned word = 4 / elementBytes, half = mmaDepth(elementBytes) / 2;
  unsigned place = 0;
  for (unsigned step = 1; step <= unsigned(k); step *= 2) {
    if (!(unsigned(k) & step))
      continue;
    if (step < word)
      place |= step;
    else if (step < half)
      place |= step / word * neighbours;
    else
      place |= step / 4 < neighbours ? step / 4 : step;
  }
  return int32_t(place);
}

LinearLayout withNeighbours(const LinearLayout &fragments, unsigned dim, unsigned elementBytes,
                            unsigned neighbours) {
  LinearLayout layout(fragments.rank());
  for (LayoutInput input : {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp})
    for (LinearLayout::Basis basis : fragments.bases(input)) {
      basis[dim] = placeAlongDepth(basis[dim], elementBytes, neighbours);
      layout.addBasis(input, std::move(basis));
    }
  return layout;
}

LinearLayout fmaAccumulator(llvm::ArrayRef<int64_t> shape, unsigned warps) {
  constexpr int64_t vector = 4; // along N
  unsigned rank = shape.size(), m = rank - 2, n = rank - 1;
  LinearLayout layout(rank);
  llvm::SmallVector<int64_t> done(rank, 1);
  auto canTake = [&](unsigned dim) { return done[dim] < shape[dim]; };
  auto take = [&](LayoutInput input, unsigned dim) {
    layout.addBasis(input, unit(rank, dim, done[dim]));
    done[dim] *= 2;
  };
  // The first dimension that has something left, a batch's last.
  auto takeAny = [&](LayoutInput input, unsigned first, unsigned second) {
    if (canTake(first))
      return take(input, first);
    if (canTake(second))
      return take(input, second);
    for (unsigned dim = 0; dim < m; ++dim)
      if (canTake(dim))
        return take(input, dim);
    layout.addBasis(input, LinearLayout::Basis(rank, 0));
  };
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  int64_t share = elements / (int64_t(warps) * lanesPerWarp);
  while (done[n] < std::min(vector, share) && canTake(n))
    take(LayoutInput::Register, n);
  int64_t adjacent = done[n];
  for (unsigned bit = 0; bit < 5; ++bit)
    takeAny(LayoutInput::Lane, bit % 2 ? m : n, bit % 2 ? n : m);
  for (unsigned count = 1; count < warps; count *= 2) {
    bool isHigh = shape[m] / done[m] >= shape[n] / done[n] * adjacent;
    takeAny(LayoutInput::Warp, isHigh ? m : n, isHigh ? n : m);
  }
  for (unsigned dim = rank; dim-- > 0;)
    while (canTake(dim))
      take(LayoutInput::Register, dim);
  return layout;
}

LinearLayout
fmaOperand(const LinearLayout &sum, int64_t depth, int64_t together,
           llvm::function_ref<LinearLayout::Basis(llvm::ArrayRef<int32_t>, int64_t)> place) {
  LinearLayout layout(2);
  LinearLayout::Basis origin(sum.rank(), 0);
  auto addDepth = [&](int64_t from, int64_t to) {
    for (; from < to; from *= 2)
      layout.addBasis(LayoutInput::Register, place(origin, from));
  };
  addDepth(1, together);
  for (LayoutInput input : {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp})
    for (const LinearLayout::Basis &basis : sum.bases(input)) {
      LinearLayout::Basis at = place(basis, 0);
      if (input != LayoutInput::Register || !isZero(at))
        layout.addBasis(input, at);
    }
  addDepth(together, depth);
  return layout;
}

std::optional<WgmmaShape> wgmmaShape(llvm::ArrayRef<int64_t> shape, unsigned warps,
                                     bool mayBeNarrow) {
  int64_t m = shape[0], n = shape[1];
  if (m < 64 || n < 16 || warps % 4)
    return std::nullopt;
  // Rows first: a row of sums then stays in one warp.
  unsigned groups = warps / 4, alongM = unsigned(std::min<int64_t>(groups, m / 64));
  unsigned alongN = groups / alongM;
  if (alongN > 1 && n / alongN < (mayBeNarrow ? 32 : 64))
    return std::nullopt;
  return WgmmaShape{alongM, alongN, unsigned(n / alongN)};
}

// Both lie alike but for what a warp group's columns are, and how many of them share a word of a
// left operand.
static LinearLayout wgmmaFragments(llvm::ArrayRef<int64_t> shape, const WgmmaShape &parts,
                                   bool isLhs, unsigned warps, unsigned word) {
  int64_t columns = isLhs ? shape[1] : int64_t(parts.columns);
  LinearLayout layout(2);
  addWalk(layout, LayoutInput::Register, 1, 1, word);
  layout.addBasis(LayoutInput::Register, {8, 0});
  addWalk(layout, LayoutInput::Register, 1, 4 * word, columns);
  addWalk(layout, LayoutInput::Register, 0, 64 * parts.alongM, shape[0]);
  addWalk(layout, LayoutInput::Lane, 1, word, 4 * word);
  addWalk(layout, LayoutInput::Lane, 0, 1, 8);
  addWalk(layout, LayoutInput::Warp, 0, 16, 64 * parts.alongM);
  if (!isLhs)
    addWalk(layout, LayoutInput::Warp, 1, columns, shape[1]);
  fillWithCopies(layout, warps);
  return layout;
}

std::optional<LinearLayout> wgmmaAccumulator(llvm::ArrayRef<int64_t> shape, unsigned warps,
                                             bool mayBeNarrow) {
  auto parts = wgmmaShape(shape, warps, mayBeNarrow);
  if (!parts)
    return std::nullopt;
  return wgmmaFragments(shape, *parts, false, warps, 2);
}

std::optional<LinearLayout> wgmmaLhs(llvm::ArrayRef<int64_t> shape, int64_t n, unsigned warps,
                                     unsigned elementBytes, bool mayBeNarrow) {
  auto parts = wgmmaShape({shape[0], n}, warps, mayBeNarrow);
  if (!parts || shape[1] < mmaDepth(elementBytes))
    return std::nullopt;
  return wgmmaFragments(shape, *parts, true, warps, 4 / elementBytes);
}

IndexOrder orderTogether(const LinearLayout &fragments, unsigned dim) {
  IndexOrder order;
  auto stepsOf = [&](LayoutInput input) {
    llvm::SmallVector<int32_t> steps;
    for (const LinearLayout::Basis &basis : fragments.bases(input))
      if (basis[dim])
        steps.push_back(basis[dim]);
    return steps;
  };
  llvm::SmallVector<int32_t> regs = stepsOf(LayoutInput::Register),
                             lanes = stepsOf(LayoutInput::Lane), free = {1, 2, 4, 8, 16};
  llvm::SmallVector<int32_t> warps = stepsOf(LayoutInput::Warp);
  // Too few for more than 16 bytes: they stay as they are.
  if (regs.size() + lanes.size() + warps.size() < free.size()) {
    for (const auto &steps : {regs, lanes, warps})
      for (int32_t step : steps)
        order[step] = step;
    return order;
  }
  auto place = [&](int32_t step, int32_t at) {
    order[step] = at;
    llvm::erase(free, at);
  };
  // A thread's own, then lanes along what is left of 16 bytes. Four lanes lie along K, by which the
  // lower two bits of the place of 16 bytes in a row of 128 are permuted: the next lane takes the
  // third one.
  unsigned together = std::min<unsigned>(2, regs.size()), lane = 0;
  for (unsigned i = 0; i < together; ++i)
    place(regs[i], 1 << i);
  for (; lane + together < 2; ++lane)
    place(lanes[lane], 1 << (lane + together));
  place(lanes[lane++], 16);
  for (; lane < lanes.size(); ++lane)
    place(lanes[lane], free.front());
  int32_t next = 32;
  auto placeRest = [&](llvm::ArrayRef<int32_t> steps) {
    for (int32_t step : steps) {
      if (free.empty()) {
        order[step] = next;
        next *= 2;
      } else {
        place(step, free.front());
      }
    }
  };
  placeRest(warps);
  placeRest(llvm::ArrayRef(regs).drop_front(together));
  return order;
}

LinearLayout inOrder(const LinearLayout &layout, unsigned dim, const IndexOrder &order) {
  return mapBases(layout, layout.rank(), [&](LinearLayout::Basis basis) {
    if (basis[dim])
      basis[dim] = order.at(basis[dim]);
    return basis;
  });
}

LinearLayout sliceLayout(const LinearLayout &layout, unsigned dim) {
  return mapBases(layout, layout.rank() - 1, [&](LinearLayout::Basis basis) {
    basis.erase(basis.begin() + dim);
    return basis;
  });
}

LinearLayout expandLayout(const LinearLayout &layout, unsigned dim) {
  return mapBases(layout, layout.rank() + 1, [&](LinearLayout::Basis basis) {
    basis.insert(basis.begin() + dim, 0);
    return basis;
  });
}

LinearLayout unbroadcastLayout(const LinearLayout &layout, llvm::ArrayRef<int64_t> from,
                               llvm::ArrayRef<int64_t> to) {
  return mapBases(layout, layout.rank(), [&](LinearLayout::Basis basis) {
    for (unsigned d = 0; d < basis.size(); ++d)
      if (from[d] != to[d])
        basis[d] = 0;
    return basis;
  });
}

LinearLayout transposeLayout(const LinearLayout &layout, llvm::ArrayRef<int32_t> perm) {
  return mapBases(layout, layout.rank(), [&](const LinearLayout::Basis &basis) {
    LinearLayout::Basis out(basis.size());
    for (unsigned d = 0; d < basis.size(); ++d)
      out[d] = basis[perm[d]];
    return out;
  });
}

LinearLayout reshapeLayout(const LinearLayout &layout, llvm::ArrayRef<int64_t> from,
                           llvm::ArrayRef<int64_t> to) {
  return mapBases(layout, to.size(), [&](const LinearLayout::Basis &basis) {
    int64_t index = rowMajor(basis, from);
    LinearLayout::Basis out(to.size());
    for (unsigned d = to.size(); d-- > 0; index /= to[d])
      out[d] = int32_t(index % to[d]);
    return out;
  });
}

LinearLayout withRegister(const LinearLayout &layout, llvm::ArrayRef<int64_t> shape,
                          int64_t index) {
  auto registers = layout.bases(LayoutInput::Register);
  auto place = [&](const LinearLayout::Basis &basis) { return rowMajor(basis, shape); };
  if (llvm::any_of(registers, [&](const auto &basis) { return place(basis) == index; }))
    return layout;
  const LinearLayout::Basis *highest = nullptr;
  for (const LinearLayout::Basis &basis : registers)
    if (!highest || place(basis) > place(*highest))
      highest = &basis;
  LinearLayout::Basis wanted(layout.rank(), 0);
  for (unsigned d = layout.rank(); d-- > 0; index /= shape[d])
    wanted[d] = int32_t(index % shape[d]);
  LinearLayout out(layout.rank());
  if (!highest)
    out.addBasis(LayoutInput::Register, wanted);
  for (LayoutInput input :
       {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp, LayoutInput::Block})
    for (const LinearLayout::Basis &basis : layout.bases(input))
      out.addBasis(input, &basis == highest ? wanted
                          : basis != wanted ? basis
                          : highest         ? *highest
                                            : LinearLayout::Basis(layout.rank(), 0));
  return out;
}

unsigned consecutiveRegisters(const LinearLayout &layout, unsigned dim) {
  unsigned count = 1;
  for (const LinearLayout::Basis &basis : layout.bases(LayoutInput::Register)) {
    if (basis != unit(layout.rank(), dim, count))
      break;
    count *= 2;
  }
  return count;
}

int64_t rowMajor(llvm::ArrayRef<int32_t> coordinate, llvm::ArrayRef<int64_t> shape) {
  int64_t index = 0;
  for (unsigned d = 0; d < shape.size(); ++d)
    index = index * shape[d] + coordinate[d];
  return index;
}

bool covers(const LinearLayout &layout, llvm::ArrayRef<int64_t> shape) {
  if (layout.rank() != shape.size())
    return false;
  // Each bit of the row-major index must be the basis of exactly one hardware bit.
  int64_t seen = 0, size = 1;
  for (int64_t extent : shape)
    size *= extent;
  for (LayoutInput input :
       {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp, LayoutInput::Block})
    for (const LinearLayout::Basis &basis : layout.bases(input)) {
      int64_t index = rowMajor(basis, shape);
      if (index == 0 && input != LayoutInput::Register)
        continue;
      if (index == 0 || (index & (index - 1)) || (seen & index))
        return false;
      seen |= index;
    }
  return seen == size - 1;
}

bool LaneExchange::movesLanes() const {
  for (auto [i, lane] : llvm::enumerate(lanes))
    if (i != lane)
      return true;
  return false;
}

unsigned LaneExchange::shuffles(unsigned words) const {
  unsigned count = 0;
  for (const Step &step : steps)
    if (step.kind == Step::Swap)
      count += words / 2;
    else if (step.kind == Step::Take)
      words /= 2;
    else
      count += words, words *= 2;
  return count + (movesLanes() ? words : 0);
}

bool LaneExchange::isCheap(unsigned words) const {
  constexpr unsigned few = 8;
  return shuffles(words) <= (words > few ? words : 2 * words);
}

std::optional<LaneExchange> exchangeInWarps(const LinearLayout &from, const LinearLayout &to) {
  using Basis = LinearLayout::Basis;
  using Step = LaneExchange::Step;
  if (from.bases(LayoutInput::Warp) != to.bases(LayoutInput::Warp))
    return std::nullopt;
  llvm::SmallVector<Basis> registers(from.bases(LayoutInput::Register)),
      lanes(from.bases(LayoutInput::Lane));
  auto wantedRegisters = to.bases(LayoutInput::Register), wantedLanes = to.bases(LayoutInput::Lane);
  auto staysInRegisters = [&](const Basis &basis) {
    return !isZero(basis) && llvm::is_contained(wantedRegisters, basis);
  };
  auto firstLane = [&](auto holds) {
    return unsigned(llvm::find_if(lanes, holds) - lanes.begin());
  };
  LaneExchange exchange;
  for (unsigned reg = 0; reg < from.bits(LayoutInput::Register); ++reg) {
    const auto *wanted = llvm::find(wantedLanes, registers[reg]);
    if (wanted == wantedLanes.end())
      continue;
    // Into the lane bit where it belongs if that gives something back or holds copies, else into
    // one that does.
    unsigned lane = unsigned(wanted - wantedLanes.begin());
    if (!staysInRegisters(lanes[lane]) && !isZero(lanes[lane]))
      lane = firstLane(staysInRegisters);
    if (lane == lanes.size())
      lane = firstLane(isZero);
    if (lane == lanes.size())
      return std::nullopt;
    bool isCopies = isZero(lanes[lane]);
    exchange.steps.push_back({isCopies ? Step::Take : Step::Swap, reg, lane});
    std::swap(registers[reg], lanes[lane]);
  }
  for (unsigned lane = 0; lane < lanes.size(); ++lane)
    if (staysInRegisters(lanes[lane])) {
      exchange.steps.push_back({Step::Spread, unsigned(registers.size()), lane});
      registers.push_back(lanes[lane]);
      lanes[lane] = Basis(from.rank(), 0);
    }
  // What a layout names once is named once now, in the same kind of place.
  auto order = [](llvm::ArrayRef<Basis> has, llvm::ArrayRef<Basis> wanted,
                  llvm::SmallVectorImpl<unsigned> &places) {
    llvm::SmallVector<bool> taken(has.size());
    for (const auto &[i, basis] : llvm::enumerate(wanted)) {
      unsigned place = unsigned(i); // copies stay where they are, if they can
      if (place >= has.size() || has[place] != basis || taken[place])
        for (place = 0; place < has.size() && (taken[place] || has[place] != basis);)
          ++place;
      if (place == has.size())
        return false;
      taken[place] = true;
      places.push_back(place);
    }
    return true;
  };
  if (!order(lanes, wantedLanes, exchange.lanes) ||
      !order(registers, wantedRegisters, exchange.registers) ||
      registers.size() - llvm::count_if(registers, isZero) != wantedRegisters.size())
    return std::nullopt;
  return exchange;
}

} // namespace nereid::gpu
