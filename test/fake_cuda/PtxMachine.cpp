#include "PtxArithmetic.h"
#include "PtxBlock.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace ptx {

Op opOf(std::string_view name) {
#define NEREID_PTX_NAME(one) {#one, Op::one##_},
  static const std::map<std::string_view, Op> names = {NEREID_PTX_OPS(NEREID_PTX_NAME)};
#undef NEREID_PTX_NAME
  auto found = names.find(name);
  return found == names.end() ? Op::unknown_ : found->second;
}

void fail(const std::string &text) { throw Fault{text}; }

namespace {

// Where memory of a thread of its own begins, for addresses that do not say what memory they mean.
constexpr uint64_t localBase = uint64_t(0x6c) << 56;

bool isCollective(const Instruction &i) {
  return i.op == Op::shfl_ || i.op == Op::ldmatrix_ || i.op == Op::stmatrix_ || i.op == Op::mma_ ||
         i.op == Op::wgmma_ || i.op == Op::vote_ || i.op == Op::redux_ || i.op == Op::activemask_ ||
         (i.op == Op::bar_ && i.isWarp) || (i.op == Op::tensormap_ && !i.has("replace"));
}
bool isBarrier(const Instruction &i) {
  return (i.op == Op::bar_ || i.op == Op::barrier_) && !i.isWarp;
}

// A register that is wider than what is loaded.
uint64_t extended(uint64_t bits, Type type) {
  return type.kind == Kind::Signed ? uint64_t(signedOf(bits, type.bytes)) : bits;
}

} // namespace

Multiprocessor::Multiprocessor(const Kernel &kernel, const Launch &launch, std::mt19937 &random)
    : kernel(kernel), launch(launch), random(random),
      shared(launch.sharedBytes, (launch.block[0] * launch.block[1] * launch.block[2] + 31) / 32),
      threads(size_t(launch.block[0]) * launch.block[1] * launch.block[2]),
      warps((threads.size() + 31) / 32) {
  if (warps.size() > 64)
    fail("the model does not know so many warps");
  for (unsigned w = 0; w < warps.size(); ++w)
    warps[w].knows.seen.of[w] = 1;
}

// A block comes when all of the last one is over. Registers and shared memory hold anything.
void Multiprocessor::begin() {
  for (Thread &thread : threads) {
    std::vector<uint64_t> registers = std::move(thread.registers);
    thread = {};
    registers.assign(kernel.registers, 0x7ff7dead7fc1beef);
    thread.registers = std::move(registers);
    thread.local.assign(kernel.localBytes, 0xff);
    if (kernel.hasProducts) {
      thread.madeBy.assign(kernel.registers, 0);
      thread.readBy.assign(kernel.registers, 0);
      thread.writtenAfter.assign(kernel.registers, 0);
    }
  }
  Knowledge all;
  for (Warp &warp : warps)
    all.seen.join(warp.knows.seen);
  for (const auto &[at, barrier] : mbarriers)
    all.seen.join(barrier.visible.seen);
  all.fenced = all.fencedGlobal = all.seen;
  for (Warp &warp : warps) {
    warp = {};
    warp.knows = all;
  }
  for (unsigned w = 0; w < warps.size(); ++w)
    nextStep(w);
  shared.begin();
  barriers.clear();
  for (auto &[at, barrier] : mbarriers)
    barrier.isAlive = false;
  transfers.clear();
  madeMaps.clear();
  writtenGlobal.clear();
  globalBytes.clear();
  productsOfGroups.assign((warps.size() + 3) / 4, {});
  constexpr unsigned hastes[] = {0, 4, 16};
  haste = hastes[random() % 3];
}

// What is left when all warps have ended.
void Multiprocessor::end() {
  for (const Transfer &transfer : transfers)
    if (transfer.isLoad)
      fail("the block ends while a bulk copy still fills its shared memory");
  for (const Thread &thread : threads)
    if (!thread.bulkReads.empty())
      fail("the block ends while a bulk copy may still read its shared memory");
  while (!transfers.empty())
    land(random() % transfers.size());
  for (const auto &[at, barrier] : mbarriers)
    if (barrier.isAlive && barrier.bytes)
      fail("the block ends with an mbarrier at " + std::to_string(at) + " that counts " +
           std::to_string(barrier.bytes) + " bytes which have not come");
}

void Multiprocessor::run(const unsigned (&at)[3]) {
  std::copy(at, at + 3, place);
  begin();
  std::vector<unsigned> order(warps.size());
  for (unsigned w = 0; w < warps.size(); ++w)
    order[w] = w;
  for (;;) {
    std::shuffle(order.begin(), order.end(), random);
    bool hasMoved = false, isLeft = false;
    for (unsigned w : order) {
      if (!warps[w].done && warps[w].waitsAt < 0)
        hasMoved |= runWarp(w);
      isLeft |= !warps[w].done;
      while (!transfers.empty() && random() % 16 < haste) {
        land(random() % transfers.size());
        hasMoved = true;
      }
    }
    if (!isLeft)
      break;
    if (hasMoved)
      continue;
    if (transfers.empty())
      reportDeadlock();
    land(random() % transfers.size());
  }
  end();
}

std::string Multiprocessor::placeOf(size_t pc) const {
  const Instruction &i = kernel.code[pc];
  return "`" + i.full + "`, instruction " + std::to_string(pc) +
         (i.line ? ", line " + std::to_string(i.line) : "");
}

void Multiprocessor::reportDeadlock() {
  std::string text = "nothing goes on any more";
  for (unsigned w = 0; w < warps.size(); ++w) {
    text += "; warp " + std::to_string(w);
    if (warps[w].done) {
      text += " has ended";
      continue;
    }
    unsigned l = 0;
    while (warps[w].waitsAt < 0 && l + 1 < lanesOf(w) && !lane(w, l).isStalled)
      ++l;
    as(w, l);
    const Instruction &i = kernel.code[current->pc];
    text += " waits at " + placeOf(current->pc);
    if (warps[w].waitsAt >= 0) {
      const NamedBarrier &barrier = barriers[unsigned(warps[w].waitsAt)];
      text += ", where " + std::to_string(barrier.arrived) + " threads of " +
              std::to_string(barrier.expected) + " are";
    } else {
      const Mbarrier &barrier = mbarriers[address(i.operands[1])];
      text += ", for phase " + std::to_string(barrier.phase) + " of the mbarrier at " +
              std::to_string(address(i.operands[1])) + ", which lacks " +
              std::to_string(barrier.pending) + " arrivals and " + std::to_string(barrier.bytes) +
              " bytes";
    }
  }
  fail(text);
}

// Until all lanes have ended, or wait for other warps or a copy.
bool Multiprocessor::runWarp(unsigned warp) {
  bool hasMoved = false;
  for (;;) {
    bool isStalled = false;
    std::vector<unsigned> active;
    for (unsigned l = 0; l < lanesOf(warp); ++l) {
      hasMoved |= runThread(warp, l);
      isStalled |= lane(warp, l).isStalled;
      if (!lane(warp, l).done)
        active.push_back(l);
    }
    if (active.empty()) {
      warps[warp].done = true;
      return true;
    }
    if (isStalled)
      return hasMoved;
    size_t pc = lane(warp, active[0]).pc;
    for (unsigned l : active)
      if (lane(warp, l).pc != pc)
        fail("the lanes of a warp wait at " + placeOf(pc) + " and at " + placeOf(lane(warp, l).pc));
    const Instruction &i = kernel.code[pc];
    hasMoved = true;
    if (isBarrier(i)) {
      if (active.size() != lanesOf(warp))
        fail("some lanes have ended that a barrier waits for");
      if (!arrive(warp, i))
        return true;
      continue;
    }
    try {
      collective(warp, i, active);
    } catch (Fault &fault) {
      fail(placeOf(pc) + ", warp " + std::to_string(warp) + ": " + fault.text);
    }
    for (unsigned l : active)
      ++lane(warp, l).pc;
  }
}

// Up to a step that needs others.
bool Multiprocessor::runThread(unsigned warp, unsigned l) {
  as(warp, l);
  Thread &thread = *current;
  bool hasMoved = false, wasStalled = std::exchange(thread.isStalled, false);
  while (!thread.done) {
    if (thread.pc >= kernel.code.size()) {
      thread.done = true;
      break;
    }
    const Instruction &i = kernel.code[thread.pc];
    if (i.predicate >= 0 && bool(thread.registers[size_t(i.predicate)] & 1) == i.negated) {
      ++thread.pc;
      continue;
    }
    if (isCollective(i) || isBarrier(i))
      break;
    if (++steps > 400'000'000)
      fail("the kernel does not end");
    if (i.op == Op::bra_) {
      thread.pc = i.target;
      continue;
    }
    if (i.op == Op::ret_ || i.op == Op::exit_) {
      thread.done = true;
      break;
    }
    try {
      if (i.op == Op::mbarrier_ && i.has("try_wait")) {
        if (!tryWait(i)) {
          // A wait may end without what it waits for: code asks again.
          thread.isStalled = wasStalled || random() % 4 != 0;
          if (thread.isStalled)
            break;
          set(i.operands[0], 0, {Kind::Pred, 1});
        }
      } else {
        execute(i);
      }
    } catch (Fault &fault) {
      fail(placeOf(thread.pc) + ", thread " + std::to_string(warp * 32 + l) + ": " + fault.text);
    }
    hasMoved = true;
    ++thread.pc;
  }
  return hasMoved || thread.done;
}

// --- operands -----------------------------------------------------------------------------------

uint64_t Multiprocessor::get(const Operand &operand, Type type) {
  switch (operand.kind) {
  case Operand::Register: {
    if (kernel.hasProducts)
      checkNotMade(operand.index);
    uint64_t bits = current->registers[operand.index];
    return operand.isNegated ? ~bits & 1
                             : bits & (type.kind == Kind::Pred ? 1 : maskOf(type.bytes));
  }
  case Operand::Constant:
    return operand.bits & maskOf(type.bytes);
  case Operand::Local:
    return localBase + operand.bits;
  case Operand::Special:
    return special(operand.name);
  case Operand::Parameter: {
    const Parameter &parameter = kernel.parameters[operand.index];
    uint64_t bits = 0;
    std::memcpy(&bits, launch.arguments[operand.index], std::min<size_t>(8, parameter.bytes));
    return bits;
  }
  case Operand::List: {
    uint64_t bits = 0;
    unsigned each = type.bytes / unsigned(operand.list.size());
    for (size_t i = 0; i < operand.list.size(); ++i)
      bits |= get(operand.list[i], {Kind::Bits, each}) << i * each * 8;
    return bits;
  }
  default:
    fail("a label is no value");
  }
}
void Multiprocessor::setRegister(unsigned index, uint64_t bits) {
  if (kernel.hasProducts) {
    checkMayWrite(index);
    current->madeBy[index] = 0;
    current->writtenAfter[index] = warps[currentWarp].fences;
  }
  current->registers[index] = bits;
}
void Multiprocessor::set(const Operand &operand, uint64_t bits, Type type) {
  if (operand.kind == Operand::List) {
    unsigned each = type.bytes / unsigned(operand.list.size());
    for (size_t i = 0; i < operand.list.size(); ++i)
      set(operand.list[i], bits >> i * each * 8, {Kind::Bits, each});
    return;
  }
  setRegister(operand.index, type.kind == Kind::Pred ? bits & 1 : bits & maskOf(type.bytes));
}
uint64_t Multiprocessor::special(const std::string &name) const {
  unsigned thread = currentWarp * 32 + currentLane;
  unsigned axis = unsigned(name.back() - 'x');
  if (name == "%laneid")
    return currentLane;
  if (name == "%warpid")
    return currentWarp;
  if (name.starts_with("%tid."))
    return axis == 0   ? thread % launch.block[0]
           : axis == 1 ? thread / launch.block[0] % launch.block[1]
                       : thread / launch.block[0] / launch.block[1];
  if (name.starts_with("%ctaid."))
    return place[axis];
  if (name.starts_with("%nctaid."))
    return launch.grid[axis];
  if (name.starts_with("%ntid."))
    return launch.block[axis];
  if (name == "%smid")
    return 0;
  if (name == "%dynamic_smem_size")
    return launch.sharedBytes;
  return steps; // clocks
}

// --- memory -------------------------------------------------------------------------------------

void Multiprocessor::inGlobal(uint64_t at, unsigned bytes) const {
  if (at % bytes)
    fail("the address of " + std::to_string(bytes) + " bytes is not aligned");
  if (!launch.isAllocated(at, bytes))
    fail("global memory outside of all allocations");
}
void Multiprocessor::noteGlobalWrite(uint64_t at, unsigned bytes) {
  for (uint64_t piece = at / 16; kernel.hasBulkCopies && piece <= (at + bytes - 1) / 16; ++piece)
    writtenGlobal[piece] = {currentWarp, warps[currentWarp].knows.seen.of[currentWarp]};
}
void Multiprocessor::noteGlobal(uint64_t at, unsigned bytes, const uint8_t *values) {
  if (!launch.ordersGlobal)
    return;
  const Steps &seen = warps[currentWarp].knows.seen;
  auto check = [&](const GlobalByte::By &other, const char *what) {
    if (seen.of[other.warp] < other.step)
      fail(std::to_string(bytes) + " bytes of global memory are " + (values ? "written" : "read") +
           " by warp " + std::to_string(currentWarp) + " and " + what + " by warp " +
           std::to_string(other.warp) + " without a barrier between");
  };
  for (unsigned k = 0; k < bytes; ++k) {
    GlobalByte &byte = globalBytes[at + k];
    GlobalByte::By now{currentWarp, seen.of[currentWarp]};
    if (!values || *reinterpret_cast<const uint8_t *>(at + k) != values[k]) {
      check(byte.written, "written");
      if (values)
        check(byte.read, "read"), check(byte.readBefore, "read");
    }
    if (values) {
      byte.written = now;
    } else {
      if (byte.read.warp != now.warp)
        byte.readBefore = byte.read;
      byte.read = now;
    }
  }
}
// Null if it is not of the thread's own memory.
uint8_t *Multiprocessor::localOf(uint64_t at, unsigned bytes) {
  if (at - localBase >= current->local.size() + 1)
    return nullptr;
  if (at - localBase + bytes > current->local.size() || at % bytes)
    fail("local memory outside of its " + std::to_string(current->local.size()) +
         " bytes, or not aligned");
  return &current->local[at - localBase];
}
void Multiprocessor::read(const Instruction &i, uint64_t at, unsigned bytes, uint8_t *to) {
  if (i.isShared) {
    shared.noteRead({at, bytes}, toucher());
    std::memcpy(to, shared.at(at), bytes);
  } else if (const uint8_t *local = localOf(at, bytes)) {
    std::memcpy(to, local, bytes);
  } else {
    if (!i.has("param"))
      inGlobal(at, bytes), noteGlobal(at, bytes, nullptr);
    std::memcpy(to, reinterpret_cast<const void *>(at), bytes);
  }
}
void Multiprocessor::write(const Instruction &i, uint64_t at, unsigned bytes, const uint8_t *from) {
  if (i.isShared) {
    shared.noteWrite({at, bytes}, toucher(), from);
    std::memcpy(shared.at(at), from, bytes);
  } else if (uint8_t *local = localOf(at, bytes)) {
    std::memcpy(local, from, bytes);
  } else {
    inGlobal(at, bytes);
    noteGlobalWrite(at, bytes);
    noteGlobal(at, bytes, from);
    std::memcpy(reinterpret_cast<void *>(at), from, bytes);
  }
}

void Multiprocessor::loadOrStore(const Instruction &i) {
  bool isStore = i.op == Op::st_;
  const Operand &memory = i.operands[isStore ? 0 : 1], &values = i.operands[isStore ? 1 : 0];
  Type type = i.types.back();
  unsigned count = values.kind == Operand::List ? unsigned(values.list.size()) : 1;
  uint8_t data[32] = {};
  auto each = [&](unsigned k) -> const Operand & {
    return values.kind == Operand::List ? values.list[k] : values;
  };
  if (isStore) {
    for (unsigned k = 0; k < count; ++k) {
      uint64_t bits = get(each(k));
      std::memcpy(data + k * type.bytes, &bits, type.bytes);
    }
    return write(i, address(memory), count * type.bytes, data);
  }
  if (memory.kind == Operand::Parameter) {
    size_t bytes = kernel.parameters[memory.index].bytes, from = size_t(memory.offset);
    if (from > bytes)
      fail("a parameter has " + std::to_string(bytes) + " bytes");
    std::memcpy(data, static_cast<const uint8_t *>(launch.arguments[memory.index]) + from,
                std::min<size_t>(count * type.bytes, bytes - from));
  } else {
    read(i, address(memory), count * type.bytes, data);
  }
  for (unsigned k = 0; k < count; ++k) {
    uint64_t bits = 0;
    std::memcpy(&bits, data + k * type.bytes, type.bytes);
    set(each(k), extended(bits, type), {Kind::Bits, 8});
  }
}

void Multiprocessor::atomic(const Instruction &i) {
  bool hasResult = i.op == Op::atom_;
  const Operand *from = &i.operands[hasResult];
  Type type = i.types.back();
  uint64_t at = address(from[0]);
  unsigned count = from[1].kind == Operand::List ? unsigned(from[1].list.size()) : 1;
  if (i.isShared)
    shared.check({at, count * type.bytes});
  else
    inGlobal(at, count * type.bytes), noteGlobalWrite(at, count * type.bytes);
  for (unsigned k = 0; k < count; ++k, at += type.bytes) {
    uint8_t *memory = i.isShared ? shared.at(at) : reinterpret_cast<uint8_t *>(at);
    uint64_t old = 0, value = get(count > 1 ? from[1].list[k] : from[1], type), made = value;
    std::memcpy(&old, memory, type.bytes);
    if (i.has("cas"))
      made = old == value ? get(from[2], type) : old;
    else if (i.has("and") || i.has("or") || i.has("xor"))
      made = i.has("and") ? old & value : i.has("or") ? old | value : old ^ value;
    else if (!i.has("exch"))
      made = arithmetic(i.has("add")   ? Op::add_
                        : i.has("min") ? Op::min_
                                       : Op::max_,
                        type, old, value, 0, i);
    std::memcpy(memory, &made, type.bytes);
    if (hasResult && i.operands[0].index)
      set(i.operands[0], old, type);
  }
}

// What a cache policy looks like: nothing else may stand where an access wants one.
constexpr uint64_t cachePolicy = 0x12f0000000000000;

void Multiprocessor::execute(const Instruction &i) {
  const auto &o = i.operands;
  Op name = i.op;
  if ((name == Op::ld_ || name == Op::st_ || name == Op::cp_) && i.has("L2::cache_hint") &&
      get(o.back(), {Kind::Bits, 8}) != cachePolicy)
    fail("the last operand is no cache policy");
  if (name == Op::ld_ || name == Op::st_)
    return loadOrStore(i);
  if (name == Op::cp_)
    return copy(i);
  if (name == Op::mbarrier_)
    return mbarrier(i);
  if (name == Op::tensormap_)
    return replaceInMap(i);
  if (name == Op::fence_)
    return fence(i);
  if (name == Op::atom_ || name == Op::red_)
    return atomic(i);
  if (name == Op::membar_ || name == Op::nanosleep_ || name == Op::griddepcontrol_ ||
      name == Op::prefetch_)
    return;
  if (name == Op::createpolicy_)
    return set(o[0], cachePolicy, {Kind::Bits, 8});
  if (name == Op::trap_)
    fail("the kernel traps");
  Type type = i.types.empty() ? Type{} : i.types.back();
  if (name == Op::cvt_) { // into a register that may be wider
    uint64_t made = converted(i, get(o[1], i.types[1]), o.size() > 2 ? get(o[2], i.types[1]) : 0);
    return set(o[0], extended(made & maskOf(i.types[0].bytes), i.types[0]), {Kind::Bits, 8});
  }
  if (name == Op::mov_ && o[1].kind == Operand::Parameter)
    return set(o[0], reinterpret_cast<uint64_t>(launch.arguments[o[1].index]), type);
  if (name == Op::mov_ && kernel.hasProducts && o[0].kind == Operand::Register &&
      o[1].kind == Operand::Register && current->madeBy[o[1].index] > warps[currentWarp].finished)
    return renameProduct(o[0].index, o[1].index);
  if (name == Op::mov_ || name == Op::cvta_)
    return set(o[0], get(o[1], type), type);
  if (name == Op::setp_) {
    bool holds = compares(i, type, get(o[1], type), get(o[2], type));
    if (o.size() > 3) {
      bool other = get(o[3], {Kind::Pred, 1});
      holds = i.has("and") ? holds && other : i.has("or") ? holds || other : holds != other;
    }
    set(o[0], holds, {Kind::Pred, 1});
    if (o[0].second >= 0)
      setRegister(unsigned(o[0].second), !holds);
    return;
  }
  if (name == Op::selp_)
    return set(o[0], get(get(o[3], {Kind::Pred, 1}) ? o[1] : o[2], type), type);
  compute(i, type);
}

void Multiprocessor::compute(const Instruction &i, Type type) {
  const auto &o = i.operands;
  Op name = i.op;
  uint64_t a = get(o[1], type), b = o.size() > 2 ? get(o[2], type) : 0;
  unsigned width = type.bytes * 8;
  if (name == Op::and_)
    return set(o[0], a & b, type);
  if (name == Op::or_)
    return set(o[0], a | b, type);
  if (name == Op::xor_)
    return set(o[0], a ^ b, type);
  if (name == Op::not_)
    return set(o[0], ~a, type);
  if (name == Op::shl_ || name == Op::shr_) {
    uint64_t by = get(o[2], {Kind::Bits, 4});
    if (name == Op::shl_)
      return set(o[0], by >= width ? 0 : a << by, type);
    if (type.kind == Kind::Signed)
      return set(o[0], uint64_t(signedOf(a, type.bytes) >> std::min<uint64_t>(by, width - 1)),
                 type);
    return set(o[0], by >= width ? 0 : a >> by, type);
  }
  if (name == Op::shf_) {
    uint64_t both = b << 32 | a, by = get(o[3], {Kind::Bits, 4});
    by = i.has("wrap") ? by & 31 : std::min<uint64_t>(by, 32);
    return set(o[0], i.has("l") ? both << by >> 32 : both >> by, type);
  }
  if (name == Op::bfe_) {
    unsigned start = unsigned(b & 255), length = unsigned(get(o[3], {Kind::Bits, 4}) & 255);
    uint64_t field = start >= width ? 0 : a >> start;
    length = std::min(length, width);
    bool isNegative =
        type.kind == Kind::Signed && length && a >> std::min(start + length - 1, width - 1) & 1;
    field = length == 64 ? field : field & ((uint64_t(1) << length) - 1);
    if (isNegative && length < 64)
      field |= ~uint64_t(0) << std::min(length, start >= width ? 0 : width - start);
    return set(o[0], field, type);
  }
  if (name == Op::bfi_) {
    unsigned start = unsigned(get(o[3], {Kind::Bits, 4}) & 255),
             length = unsigned(get(o[4], {Kind::Bits, 4}) & 255);
    uint64_t mask = (length >= 64 ? ~uint64_t(0) : (uint64_t(1) << length) - 1) << (start & 63);
    return set(o[0], start >= width ? b : (b & ~mask) | (a << start & mask), type);
  }
  if (name == Op::prmt_) {
    uint64_t both = b << 32 | a, selector = get(o[3], {Kind::Bits, 4}), out = 0;
    for (unsigned k = 0; k < 4; ++k) {
      unsigned pick = selector >> k * 4 & 15;
      uint64_t byte = both >> (pick & 7) * 8 & 255;
      out |= (pick & 8 ? (byte & 128 ? 255 : 0) : byte) << k * 8;
    }
    return set(o[0], out, type);
  }
  if (name == Op::lop3_) {
    uint64_t c = get(o[3], type), table = get(o[4]), out = 0;
    for (unsigned bit = 0; bit < 32; ++bit)
      out |= (table >> ((a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1)) & 1) << bit;
    return set(o[0], out, type);
  }
  if (name == Op::dp4a_) {
    uint64_t sum = get(o[3], {Kind::Bits, 4});
    for (unsigned at = 0; at < 32; at += 8) {
      auto byteOf = [&](uint64_t word, Type of) {
        uint64_t byte = word >> at & 255;
        return of.kind == Kind::Signed ? signedOf(byte, 1) : int64_t(byte);
      };
      sum += uint64_t(byteOf(a, i.types[0]) * byteOf(b, i.types[1]));
    }
    return set(o[0], sum, {Kind::Bits, 4});
  }
  if (name == Op::popc_)
    return set(o[0], uint64_t(std::popcount(a)), {Kind::Bits, 4});
  if (name == Op::clz_)
    return set(o[0], uint64_t(std::countl_zero(a)) - (64 - width), {Kind::Bits, 4});
  if (name == Op::brev_) {
    uint64_t out = 0;
    for (unsigned bit = 0; bit < width; ++bit)
      out |= (a >> bit & 1) << (width - 1 - bit);
    return set(o[0], out, type);
  }
  if (name == Op::copysign_) {
    uint64_t sign = uint64_t(1) << (width - 1);
    return set(o[0], (a & sign) | (b & ~sign), type);
  }
  bool isWide = i.isWide;
  Type result = isWide ? Type{type.kind, type.bytes * 2} : type;
  uint64_t c = o.size() > 3 ? get(o[3], result) : 0;
  set(o[0], arithmetic(name, type, a, b, c, i), result);
}

std::string run(const Kernel &kernel, const Launch &launch) {
  std::mt19937 random(launch.seed);
  try {
    Multiprocessor multiprocessor(kernel, launch, random);
    unsigned at[3];
    for (at[2] = 0; at[2] < launch.grid[2]; ++at[2])
      for (at[1] = 0; at[1] < launch.grid[1]; ++at[1])
        for (at[0] = 0; at[0] < launch.grid[0]; ++at[0])
          multiprocessor.run(at);
  } catch (Fault &fault) {
    return fault.text;
  }
  return {};
}

} // namespace ptx
