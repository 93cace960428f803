// Barriers, and copies that run beside the threads. A copy ends at any time from its beginning to
// where it is waited for, in any order with others.
#include "PtxArithmetic.h"
#include "PtxBlock.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace ptx {

void Multiprocessor::nextStep(unsigned warp) { ++warps[warp].knows.seen.of[warp]; }

// --- barriers -----------------------------------------------------------------------------------

// Barriers count warps, in threads. True if the warp goes on.
bool Multiprocessor::arrive(unsigned warp, const Instruction &i) {
  as(warp, 0);
  unsigned number = unsigned(get(i.operands[0])), whole = unsigned(warps.size() * 32);
  unsigned expected = i.operands.size() > 1 ? unsigned(get(i.operands[1])) : whole;
  NamedBarrier &barrier = barriers[number];
  std::string name = "barrier " + std::to_string(number);
  if (number > 15 || !expected || expected % 32)
    fail("there is no " + name + " of " + std::to_string(expected) + " threads");
  if (barrier.arrived && barrier.expected != expected)
    fail(placeOf(current->pc) + ": " + name + " is for " + std::to_string(barrier.expected) +
         " threads, and for " + std::to_string(expected));
  barrier.expected = expected;
  barrier.arrived += 32;
  barrier.gathered.join(warps[warp].knows);
  nextStep(warp);
  bool waits = !i.has("arrive");
  if (waits) {
    barrier.waiting.push_back(warp);
    warps[warp].waitsAt = int(number);
  } else {
    for (unsigned l = 0; l < lanesOf(warp); ++l)
      ++lane(warp, l).pc;
  }
  if (barrier.arrived < barrier.expected)
    return !waits;
  for (unsigned w : barrier.waiting) {
    warps[w].knows.join(barrier.gathered);
    warps[w].waitsAt = -1;
    for (unsigned l = 0; l < lanesOf(w); ++l)
      ++lane(w, l).pc;
  }
  barrier = {};
  return true;
}

Mbarrier &Multiprocessor::mbarrierAt(uint64_t at) {
  Mbarrier &barrier = mbarriers[at];
  if (!barrier.isAlive)
    fail("there is no mbarrier at " + std::to_string(at));
  if (warps[currentWarp].knows.seen.of[barrier.initialiser] < barrier.initialised)
    fail("the mbarrier at " + std::to_string(at) + " is initialised by warp " +
         std::to_string(barrier.initialiser) + " without a barrier between");
  return barrier;
}

void Multiprocessor::mbarrier(const Instruction &i) {
  const Operand *operands = &i.operands[i.has("arrive")]; // behind a result
  uint64_t at = address(operands[0]);
  auto value = [&](unsigned n) { return uint32_t(get(operands[n], {Kind::Bits, 4})); };
  if (i.has("init")) {
    Mbarrier &barrier = mbarriers[at];
    if (barrier.isAlive)
      fail("there is an mbarrier at " + std::to_string(at) + " already");
    shared.noteWrite({at, 8}, toucher(), nullptr);
    shared.setBarrier(at, true);
    unsigned agent = shared.agentOf(at);
    uint32_t step = barrier.visible.seen.of[agent];
    barrier = {};
    barrier.agent = agent;
    barrier.visible.seen.of[agent] = step; // phases are counted on
    barrier.initialiser = currentWarp;
    barrier.initialised = warps[currentWarp].knows.seen.of[currentWarp];
    barrier.expected = barrier.pending = value(1);
    barrier.isAlive = true;
    if (!barrier.expected || barrier.expected >> 20)
      fail("an mbarrier of " + std::to_string(barrier.expected) + " arrivals");
    return;
  }
  Mbarrier &barrier = mbarrierAt(at);
  if (i.has("inval")) {
    if (barrier.bytes)
      fail("the mbarrier at " + std::to_string(at) + " still counts " +
           std::to_string(barrier.bytes) + " bytes which have not come");
    barrier.isAlive = false;
    shared.setBarrier(at, false);
    shared.noteWrite({at, 8}, toucher(), nullptr);
    return;
  }
  if (i.has("expect_tx"))
    barrier.bytes += value(1);
  if (i.has("arrive")) {
    bool hasCount = !i.has("expect_tx") && i.operands.size() > 2;
    return arriveAt(barrier, hasCount ? value(1) : 1);
  }
  if (!i.has("expect_tx"))
    fail("the model does not know it");
}

void Multiprocessor::arriveAt(Mbarrier &barrier, uint32_t count) {
  if (barrier.pending < count)
    fail("more threads arrive at an mbarrier than the " + std::to_string(barrier.expected) +
         " of a phase");
  barrier.gathered.join(warps[currentWarp].knows);
  nextStep(currentWarp);
  barrier.pending -= count;
  endPhases(barrier);
}

void Multiprocessor::endPhases(Mbarrier &barrier) {
  if (std::abs(barrier.bytes) >> 20)
    fail("an mbarrier counts " + std::to_string(barrier.bytes) + " bytes");
  if (barrier.pending || barrier.bytes)
    return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.visible.join(barrier.gathered);
  barrier.gathered = {};
  ++barrier.visible.seen.of[barrier.agent];
}

bool Multiprocessor::tryWait(const Instruction &i) {
  const Mbarrier &barrier = mbarrierAt(address(i.operands[1]));
  if ((barrier.phase & 1) == get(i.operands[2], {Kind::Bits, 4}))
    return false;
  warps[currentWarp].knows.join(barrier.visible);
  set(i.operands[0], 1, {Kind::Pred, 1});
  return true;
}

void Multiprocessor::fence(const Instruction &i) {
  bool isAsync = i.has("proxy") && i.has("async");
  if (i.has("mbarrier_init") || isAsync)
    for (auto &[at, barrier] : mbarriers)
      barrier.isFenced |= barrier.initialiser == currentWarp;
  if (isAsync) {
    Knowledge &knows = warps[currentWarp].knows;
    if (!i.has("global"))
      knows.fenced.join(knows.seen);
    if (!i.has("shared::cta"))
      knows.fencedGlobal.join(knows.seen);
    nextStep(currentWarp);
  }
  if (i.has("tensormap::generic") && i.has("acquire"))
    if (auto map = madeMaps.find(address(i.operands[0])); map != madeMaps.end()) {
      map->second.emplace_back(currentWarp, warps[currentWarp].knows.seen.of[currentWarp]);
      nextStep(currentWarp);
    }
}

// --- copies -------------------------------------------------------------------------------------

void Multiprocessor::copy(const Instruction &i) {
  if (!i.has("bulk"))
    return asyncCopy(i);
  if (i.has("commit_group"))
    ++current->bulkGroups;
  else if (i.has("wait_group"))
    waitForBulk(uint32_t(get(i.operands[0])), i.has("read"));
  else if (i.has("tensor"))
    bulkCopy(i);
  else
    fail("the model does not know this copy");
}

void Multiprocessor::asyncCopy(const Instruction &i) {
  if (i.has("commit_group")) {
    current->groups.push_back(std::move(current->open));
    current->open.clear();
  } else if (i.has("wait_group")) {
    finishCopies(size_t(get(i.operands[0])));
  } else if (i.has("wait_all")) {
    current->groups.push_back(std::move(current->open));
    current->open.clear();
    finishCopies(0);
  } else {
    Copy copy{address(i.operands[1]), address(i.operands[0]), unsigned(get(i.operands[2])), 0};
    size_t sizes = i.operands.size() - i.has("L2::cache_hint");
    copy.given = sizes > 3 ? unsigned(get(i.operands[3], {Kind::Bits, 4})) : copy.bytes;
    if (copy.given)
      inGlobal(copy.from, copy.given == copy.bytes ? copy.bytes : 1),
          noteGlobal(copy.from, copy.given, nullptr);
    shared.beginFilling({copy.to, copy.bytes}, toucher());
    current->open.push_back(copy);
  }
}
void Multiprocessor::finishCopies(size_t most) {
  while (current->groups.size() > most) {
    for (const Copy &copy : current->groups.front()) {
      std::memset(shared.at(copy.to), 0, copy.bytes);
      if (copy.given)
        std::memcpy(shared.at(copy.to), reinterpret_cast<const void *>(copy.from), copy.given);
      // Tensor cores see it without a fence, as the main loops of CUTLASS take for granted.
      shared.filled({copy.to, copy.bytes}, currentWarp,
                    warps[currentWarp].knows.seen.of[currentWarp], false);
    }
    current->groups.erase(current->groups.begin());
  }
}

namespace {

unsigned rowBytes(const TensorMap &map) { return map.box[0] * map.elementBytes(); }
unsigned rowsOf(const TensorMap &map) {
  unsigned rows = 1;
  for (unsigned d = 1; d < map.rank(); ++d)
    rows *= map.box[d];
  return rows;
}

// A row of a box: where it begins in global memory, and which of its bytes are of the tensor.
struct Row {
  uint64_t address;
  unsigned from, to;
};
Row rowOf(const Transfer &transfer, unsigned number) {
  const TensorMap &map = transfer.map;
  auto bytes = int64_t(map.elementBytes());
  int64_t first = transfer.place[0];
  Row row{map.address + uint64_t(first * bytes), 0, rowBytes(map)};
  bool isInside = true;
  for (unsigned d = 1; d < map.rank(); ++d) {
    int64_t at = int64_t(transfer.place[d]) + number % map.box[d];
    number /= map.box[d];
    isInside &= at >= 0 && at < int64_t(map.sizes[d]);
    row.address += uint64_t(at) * map.strides[d - 1];
  }
  int64_t low = std::max<int64_t>(0, -first),
          high = std::min<int64_t>(map.box[0], int64_t(map.sizes[0]) - first);
  if (!isInside || low >= high)
    return {0, 0, 0};
  row.from = unsigned(low * bytes);
  row.to = unsigned(high * bytes);
  return row;
}

// PTX ISA, "Swizzling modes": pieces of 16 bytes change places within rows of 128, by address.
uint64_t swizzled(uint64_t at, unsigned mode) { return at ^ ((at >> 7 & ((1u << mode) - 1)) << 4); }

} // namespace

TensorMap Multiprocessor::mapAt(uint64_t at) {
  bool isParameter = false;
  for (size_t p = 0; p < kernel.parameters.size(); ++p)
    isParameter |=
        kernel.parameters[p].bytes >= 128 && at == reinterpret_cast<uint64_t>(launch.arguments[p]);
  if (!isParameter && (at % 64 || !launch.isAllocated(at, 128)))
    fail("a tensor map outside of all allocations, or not aligned");
  // A fence of another warp does, if it was before.
  const Steps &seen = warps[currentWarp].knows.seen;
  if (auto made = madeMaps.find(at); made != madeMaps.end())
    if (std::none_of(made->second.begin(), made->second.end(),
                     [&](const auto &by) { return by.second <= seen.of[by.first]; }))
      fail("a tensor map that the kernel made, without `fence.proxy.tensormap` before");
  TensorMap map;
  std::memcpy(&map, reinterpret_cast<const void *>(at), sizeof map);
  if (std::string problem = map.problem(); !problem.empty())
    fail("the copy engine takes no tensor map with " + problem);
  if (map.fill || (map.swizzle && rowBytes(map) != 16u << map.swizzle))
    fail("the model does not know such a tensor map");
  return map;
}

Range Multiprocessor::rangeOf(const Transfer &transfer) const {
  return {transfer.shared, rowsOf(transfer.map) * rowBytes(transfer.map)};
}

void Multiprocessor::bulkCopy(const Instruction &i) {
  Transfer transfer;
  transfer.isLoad = i.has("mbarrier::complete_tx::bytes");
  const Operand &tensor = i.operands[transfer.isLoad];
  transfer.shared = address(i.operands[!transfer.isLoad]);
  transfer.map = mapAt(address(tensor));
  unsigned rank = transfer.map.rank();
  if (tensor.list.size() != 1 || tensor.list[0].list.size() != rank ||
      !i.has(std::to_string(rank) + "d"))
    fail("the tensor map has " + std::to_string(rank) + " dimensions");
  for (unsigned d = 0; d < rank; ++d)
    transfer.place[d] = int32_t(get(tensor.list[0].list[d], {Kind::Bits, 4}));
  Range range = rangeOf(transfer);
  if (range.at % 128)
    fail("a bulk copy at " + std::to_string(range.at) + " of shared memory, no multiple of 128");
  const Knowledge &knows = warps[currentWarp].knows;
  for (unsigned r = 0; r < rowsOf(transfer.map); ++r) {
    Row part = rowOf(transfer, r);
    if (!part.to)
      continue;
    uint64_t first = part.address + part.from, end = part.address + part.to;
    if (!launch.isAllocated(first, part.to - part.from))
      fail("global memory outside of all allocations");
    for (uint64_t piece = first / 16; transfer.isLoad && piece <= (end - 1) / 16; ++piece)
      if (auto written = writtenGlobal.find(piece);
          written != writtenGlobal.end() &&
          std::min(knows.seen.of[written->second.first],
                   knows.fencedGlobal.of[written->second.first]) < written->second.second)
        fail("the copy engine reads global memory that warp " +
             std::to_string(written->second.first) +
             " has written without a barrier and `fence.proxy.async` between");
  }
  if (transfer.isLoad) {
    transfer.mbarrier = address(i.operands[2]);
    if (!mbarrierAt(transfer.mbarrier).isFenced)
      fail("the copy engine does not see the mbarrier at " + std::to_string(transfer.mbarrier) +
           " without `fence.mbarrier_init` or `fence.proxy.async`");
    shared.beginFilling(range, toucher(true));
  } else {
    transfer.thread = size_t(current - threads.data());
    transfer.group = current->bulkGroups;
    if (i.has("reduce"))
      for (auto [word, op] : {std::pair("add", Op::add_),
                              {"min", Op::min_},
                              {"max", Op::max_},
                              {"and", Op::and_},
                              {"or", Op::or_},
                              {"xor", Op::xor_}})
        if (i.has(word))
          transfer.reduction = op;
    shared.beginReading(range, toucher(true));
    current->bulkReads.emplace_back(transfer.group, range);
    // Nobody changes what it reads until it has been waited for.
    transfer.taken.resize(range.bytes);
    for (unsigned at = 0; at < range.bytes; at += 16)
      std::memcpy(&transfer.taken[at], shared.at(swizzled(range.at + at, transfer.map.swizzle)),
                  16);
  }
  transfers.push_back(std::move(transfer));
}

void Multiprocessor::waitForBulk(uint32_t most, bool isReadOnly) {
  uint32_t end = current->bulkGroups > most ? current->bulkGroups - most : 0;
  unsigned warp = currentWarp;
  std::erase_if(current->bulkReads, [&](const std::pair<uint32_t, Range> &read) {
    if (read.first >= end)
      return false;
    shared.wasRead(read.second, warp, warps[warp].knows.seen.of[warp]);
    return true;
  });
  if (isReadOnly)
    return;
  auto thread = size_t(current - threads.data());
  for (size_t t = 0; t < transfers.size();)
    if (!transfers[t].isLoad && transfers[t].thread == thread && transfers[t].group < end)
      land(t);
    else
      ++t;
}

// A transfer ends.
void Multiprocessor::land(size_t which) {
  Transfer transfer = std::move(transfers[which]);
  transfers.erase(transfers.begin() + long(which));
  const TensorMap &map = transfer.map;
  unsigned bytes = rowBytes(map), element = map.elementBytes();
  std::vector<uint8_t> row(bytes);
  for (unsigned r = 0; r < rowsOf(map); ++r) {
    Row part = rowOf(transfer, r);
    auto *memory = reinterpret_cast<uint8_t *>(part.address);
    if (transfer.isLoad) {
      std::fill(row.begin(), row.end(), uint8_t(0));
      if (part.to)
        std::memcpy(&row[part.from], memory + part.from, part.to - part.from);
      for (unsigned at = 0; at < bytes; at += 16)
        std::memcpy(shared.at(swizzled(transfer.shared + r * bytes + at, map.swizzle)), &row[at],
                    16);
      continue;
    }
    const uint8_t *taken = &transfer.taken[r * bytes];
    if (transfer.reduction == Op::unknown_) {
      if (part.to)
        std::memcpy(memory + part.from, taken + part.from, part.to - part.from);
      continue;
    }
    static const Type types[] = {{Kind::Unsigned, 1}, {Kind::Unsigned, 2}, {Kind::Unsigned, 4},
                                 {Kind::Signed, 4},   {Kind::Unsigned, 8}, {Kind::Signed, 8},
                                 {Kind::Half, 2},     {Kind::Float, 4},    {Kind::Float, 4},
                                 {Kind::Float, 8},    {Kind::Brain, 2}};
    if (map.type >= std::size(types))
      fail("the copy engine combines no elements of type " + std::to_string(map.type));
    Type type = types[map.type];
    Op how = transfer.reduction;
    for (unsigned at = part.from; at < part.to; at += element) {
      uint64_t old = 0, own = 0;
      std::memcpy(&old, memory + at, element);
      std::memcpy(&own, taken + at, element);
      uint64_t made = how == Op::and_   ? old & own
                      : how == Op::or_  ? old | own
                      : how == Op::xor_ ? old ^ own
                                        : arithmetic(how, type, old, own, 0, Instruction());
      std::memcpy(memory + at, &made, element);
    }
  }
  if (!transfer.isLoad)
    return;
  Mbarrier &barrier = mbarriers[transfer.mbarrier];
  if (!barrier.isAlive)
    fail("a bulk copy ends where its mbarrier at " + std::to_string(transfer.mbarrier) +
         " is no more");
  Range range = rangeOf(transfer);
  shared.filled(range, barrier.agent, barrier.visible.seen.of[barrier.agent] + 1, false);
  barrier.bytes -= range.bytes;
  endPhases(barrier);
}

// PTX ISA, "tensormap.replace".
void Multiprocessor::replaceInMap(const Instruction &i) {
  struct Field {
    const char *name;
    size_t place;
    unsigned bytes;
    bool isIndexed = false;
  };
  static const Field fields[] = {
      {"global_address", offsetof(TensorMap, address), 8},
      {"rank", offsetof(TensorMap, lastDimension), 1},
      {"box_dim", offsetof(TensorMap, box), 4, true},
      {"global_dim", offsetof(TensorMap, sizes), 4, true},
      {"global_stride", offsetof(TensorMap, strides), 8, true},
      {"element_stride", offsetof(TensorMap, elementStrides), 4, true},
      {"elemtype", offsetof(TensorMap, type), 1},
      {"interleave_layout", offsetof(TensorMap, interleave), 1},
      {"swizzle_mode", offsetof(TensorMap, swizzle), 1},
      {"fill_mode", offsetof(TensorMap, fill), 1},
  };
  for (const Field &field : fields)
    if (i.has(field.name)) {
      uint64_t index = field.isIndexed ? get(i.operands[1]) : 0;
      uint64_t value = get(i.operands[1 + field.isIndexed]);
      if (index > (field.bytes == 8 ? 3 : 4))
        fail("a tensor map has no dimension " + std::to_string(index));
      uint8_t data[8];
      std::memcpy(data, &value, sizeof data);
      return write(i, address(i.operands[0]) + field.place + index * field.bytes, field.bytes,
                   data);
    }
  fail("the model does not know it");
}

// A map in shared memory is copied to where the copy engine may find it.
void Multiprocessor::publishMap(unsigned warp, const Instruction &i) {
  as(warp, 0);
  uint64_t to = address(i.operands[0]), from = address(i.operands[1]);
  inGlobal(to, 128);
  shared.noteRead({from, 128}, toucher());
  std::memcpy(reinterpret_cast<void *>(to), shared.at(from), 128);
  madeMaps[to].clear();
}

} // namespace ptx
