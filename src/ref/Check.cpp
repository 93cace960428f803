#include "ref/Check.h"

#include "ref/CheckTensors.h"

using namespace mlir;

namespace nereid::ref {

// --- the launch ---

Checker::Checker(Machine &machine) : machine(machine) {
  const CheckFacts &facts = *machine.program.checkFacts;
  // A store through an argument can only reach the tensor that the argument points into: each has
  // an address space of its own.
  std::vector<bool> written(machine.memory.regions.size(), facts.writesAnywhere);
  for (size_t i = 0; i < machine.launch.arguments.size(); ++i) {
    if (!facts.written[i])
      continue;
    uint64_t address = 0;
    if (auto *integer = std::get_if<int64_t>(&machine.launch.arguments[i]))
      address = *integer;
    else if (auto *descriptor = std::get_if<DescriptorArgument>(&machine.launch.arguments[i]))
      address = descriptor->base;
    bool found = address == 0;
    for (auto &region : machine.memory.regions)
      if (address - region->range.base < region->bytes)
        found = written[region->index] = true;
    if (!found)
      written.assign(written.size(), true);
  }
  for (auto &region : machine.memory.regions) {
    RegionState state{RegionShadow(region->elementBytes)};
    state.readOnly = !written[region->index];
    state.hasGaps = hasGaps(region->range);
    state.quiet = state.readOnly && region->range.initialized && !state.hasGaps;
    regions.push_back(std::move(state));
  }
}

Checker::~Checker() = default;

void Checker::beginProgram(Frame &frame) {
  if (idle.empty()) {
    checks.push_back(std::make_unique<FrameCheck>());
    idle.push_back(checks.back().get());
  }
  frame.check = idle.back();
  idle.pop_back();
  *frame.check = FrameCheck();
  frame.check->program = frame.linearId + 1;
  if (!std::exchange(promisesChecked, true))
    checkPromises(frame);
}

void Checker::endProgram(Frame &frame) { idle.push_back(std::exchange(frame.check, nullptr)); }

// --- order ---

void Checker::barrier(Frame &frame) {
  FrameCheck &me = *frame.check;
  me.released = me.storedTile = false;
  me.barrierAt = me.meetingAt = ++me.clock;
}

void Checker::meet(Frame &frame) {
  FrameCheck &me = *frame.check;
  me.released = false;
  me.meetingAt = ++me.clock;
}

void Checker::beginAccess(Frame &frame, const AccessSite &site) {
  FrameCheck &me = *frame.check;
  // What an atomic released is known to whom acquires it; what comes after is not.
  if (std::exchange(me.released, false))
    ++me.clock;
  auto [it, isNew] = siteIndex.try_emplace(&site, sites.size());
  if (isNew)
    sites.push_back({site.kind, frame.place, site.shape});
  me.site = it->second;
  // All threads of a program take part in a scalar atomic, and wait for its result.
  if (site.kind == AccessKind::Atomic && site.shape.empty()) {
    me.barrierBefore = me.storedTile ? std::optional(me.barrierAt) : std::nullopt;
    barrier(frame);
  }
}

void Checker::checkAccess(Frame &frame, const AccessSite &site, const Memory::Spot &spot,
                          unsigned bytes, uint32_t element, const void *value) {
  RegionState &state = regions[spot.region->index];
  FrameCheck &me = *frame.check;
  Touch touch{me.program, me.clock, me.site, element};
  if (state.hasGaps)
    checkGap(frame, site, spot, element);
  if (state.readOnly) {
    if (!spot.region->range.initialized)
      uninitialised(frame, spot, touch);
    return;
  }
  unsigned grain = state.shadow.grainFor(spot.offset, bytes);
  me.storedTile |= site.kind == AccessKind::Store && !site.shape.empty();
  bool sameValue = value && std::memcmp(value, spot.host(), bytes) == 0;
  uint64_t end = (spot.offset + bytes - 1) / grain;
  for (uint64_t index = spot.offset / grain; index <= end; ++index) {
    bool found = false;
    switch (site.kind) {
    case AccessKind::Load:
    case AccessKind::VolatileLoad:
      found = loadCell(frame, spot, state, index, touch, site.kind == AccessKind::VolatileLoad);
      break;
    case AccessKind::Store:
      found = storeCell(frame, spot, state, index, touch, sameValue);
      break;
    case AccessKind::Atomic:
      found = atomicCell(frame, site, spot, state, index, touch, !site.compares || sameValue);
      break;
    }
    if (found) // once an element, not once a byte
      break;
  }
}

bool Checker::loadCell(Frame &frame, const Memory::Spot &spot, RegionState &state, uint64_t index,
                       const Touch &touch, bool isVolatile) {
  FrameCheck &me = *frame.check;
  Cell &cell = state.shadow.cell(index);
  bool found = false;
  if (!isWritten(spot, cell)) {
    uninitialised(frame, spot, touch);
    found = true;
  } else if (!isOrdered(me, cell.write)) {
    race(frame, spot, touch, cell.write, false);
    found = true;
  } else if (cell.write.program == me.program && cell.write.clock >= me.barrierAt &&
             !runsSameElement(cell.write, touch)) {
    missingBarrier(frame, spot, touch, cell.write);
    found = true;
  } else if (cell.isAtomic && !isVolatile) {
    AtomicCell &atomic = state.shadow.atomic(index);
    const Touch &other = isOrdered(me, atomic.last) ? atomic.other : atomic.last;
    if (!isOrdered(me, other)) {
      race(frame, spot, touch, other, false);
      found = true;
    }
  }
  if (!found)
    checkRelease(frame, spot, touch, cell.write);
  // Keep the first reader, and the last one of another program; of one program two threads.
  if (!cell.read || isOrdered(me, cell.read)) {
    if (cell.read.program != me.program)
      cell.siblingRead = {};
    else if (!runsSameElement(cell.read, touch))
      cell.siblingRead = cell.read;
    cell.read = touch;
  } else {
    cell.otherRead = touch;
  }
  return found;
}

bool Checker::storeCell(Frame &frame, const Memory::Spot &spot, RegionState &state, uint64_t index,
                        const Touch &touch, bool sameValue) {
  FrameCheck &me = *frame.check;
  Cell &cell = state.shadow.cell(index);
  bool found = true;
  if (!isOrdered(me, cell.write)) {
    race(frame, spot, touch, cell.write, sameValue);
    // Who stored the value first is what later readers care for.
    if (sameValue)
      return true;
  } else if (!isOrdered(me, cell.read)) {
    race(frame, spot, touch, cell.read, false);
  } else if (!isOrdered(me, cell.otherRead)) {
    race(frame, spot, touch, cell.otherRead, false);
  } else if (overtakes(me, touch, cell.read)) {
    missingBarrier(frame, spot, touch, cell.read);
  } else if (overtakes(me, touch, cell.siblingRead)) {
    missingBarrier(frame, spot, touch, cell.siblingRead);
  } else {
    found = false;
    checkRelease(frame, spot, touch, cell.write);
  }
  if (cell.isAtomic) {
    AtomicCell &atomic = state.shadow.atomic(index);
    const Touch &other = isOrdered(me, atomic.last) ? atomic.other : atomic.last;
    if (!found && !isOrdered(me, other)) {
      race(frame, spot, touch, other, false);
      found = true;
    }
    atomic = {};
  }
  cell = {touch, {}, {}, {}, false};
  return found;
}

bool Checker::atomicCell(Frame &frame, const AccessSite &site, const Memory::Spot &spot,
                         RegionState &state, uint64_t index, const Touch &touch, bool writes) {
  FrameCheck &me = *frame.check;
  Cell &cell = state.shadow.cell(index);
  bool found = false;
  if (!site.overwrites && !isWritten(spot, cell)) {
    uninitialised(frame, spot, touch);
    found = true;
  }
  cell.isAtomic = true;
  AtomicCell &atomic = state.shadow.atomic(index);
  bool acquires =
      site.order == tile::MemSemantic::Acquire || site.order == tile::MemSemantic::AcqRel;
  bool releases =
      site.order == tile::MemSemantic::Release || site.order == tile::MemSemantic::AcqRel;
  if (acquires && atomic.released && atomic.released != me.learned &&
      atomic.released != me.snapshot) {
    me.learned = atomic.released;
    if (me.knows.join(*me.learned))
      me.snapshot.reset();
  }
  if (!found && !isOrdered(me, cell.write)) {
    race(frame, spot, touch, cell.write, false);
    found = true;
  }
  // A swap that failed has only read.
  if (!writes)
    return found;
  for (const Touch *read : {&cell.read, &cell.otherRead})
    if (!found && !isOrdered(me, *read) && sites[read->site].kind != AccessKind::VolatileLoad) {
      race(frame, spot, touch, *read, false);
      found = true;
    }
  if (releases) {
    me.released = true;
    if (site.shape.empty() && me.barrierBefore)
      weakReleases[{me.program, me.clock}] = {*me.barrierBefore, frame.place};
    if (!me.snapshot || me.snapshot->of(me.program) != me.clock) {
      auto snapshot = std::make_shared<VectorClock>(me.knows);
      snapshot->set(me.program, me.clock);
      me.snapshot = std::move(snapshot);
    }
    // A release that has not acquired adds to what others have released here.
    if (!acquires && atomic.released) {
      auto both = std::make_shared<VectorClock>(*atomic.released);
      both->join(*me.snapshot);
      atomic.released = std::move(both);
    } else {
      atomic.released = me.snapshot;
    }
  }
  if (atomic.last.program != touch.program)
    atomic.other = atomic.last;
  atomic.last = touch;
  return found;
}

// --- findings about memory ---

Finding Checker::finding(Frame &frame, std::string code, std::string message, std::string hint) {
  return machine.finding(frame, Severity::Error, std::move(code), std::move(message),
                         std::move(hint));
}

std::array<uint32_t, 3> Checker::programId(uint32_t program) const {
  uint64_t linear = program - 1;
  const auto &grid = machine.launch.grid;
  return {uint32_t(linear % grid[0]), uint32_t(linear / grid[0] % grid[1]),
          uint32_t(linear / grid[0] / grid[1])};
}

std::string Checker::programText(uint32_t program) const {
  auto id = programId(program);
  return "program (" + std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " +
         std::to_string(id[2]) + ")";
}

static const char *nounOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::Store:
    return "store";
  case AccessKind::Atomic:
    return "atomic";
  default:
    return "load";
  }
}

// Points at another access, with its line.
static void addLabel(Finding &finding, Location loc, std::string text) {
  Diagnostic place;
  setPlace(place, loc);
  finding.diagnostic.labels.push_back({std::move(place.where), std::move(text)});
}

void Checker::race(Frame &frame, const Memory::Spot &spot, const Touch &mine, const Touch &other,
                   bool sameValue) {
  Severity severity = sameValue ? Severity::Warning : Severity::Error;
  const Site &here = sites[mine.site], &there = sites[other.site];
  // Two ops race in both orders; one of them is enough.
  auto [pair, isNew] = races.try_emplace(std::minmax(here.place, there.place), here.place);
  if (machine.foundBefore(frame, "DataRace", spot.region->range.name, severity,
                          isNew ? here.place : pair->second))
    return;
  std::string element = elementOfText(*spot.region, spot.offset);
  std::string message = std::string(nounOf(here.kind)) + " of " + element + " by " +
                        programText(mine.program) + " races with the " + nounOf(there.kind) +
                        " by " + programText(other.program);
  std::string hint;
  if (sameValue) {
    message += ", though both store the same value";
    hint = "two programs do the same work: give each its own elements, or check the grid";
  } else if (here.kind == AccessKind::Store && there.kind == AccessKind::Store) {
    hint = "give each program its own elements, combine with an atomic, or take a lock";
  } else {
    hint = "nothing orders the two: where programs update what is there, one atomic loads and "
           "stores at once (`tl.atomic_add`); to hand results over, use an atomic with release "
           "order after the one and an atomic with acquire order before the other, or two launches";
  }
  Finding found = finding(frame, "DataRace", std::move(message), std::move(hint));
  found.diagnostic.severity = severity;
  found.tensor = spot.region->range.name;
  found.index = indexOf(mine.element, here.shape);
  addLabel(found, machine.program.places[there.place],
           std::string("the ") + nounOf(there.kind) + " by " + programText(other.program));
  machine.report(frame, std::move(found));
}

void Checker::uninitialised(Frame &frame, const Memory::Spot &spot, const Touch &mine) {
  if (machine.foundBefore(frame, "UninitialisedRead", spot.region->range.name))
    return;
  const Site &here = sites[mine.site];
  Finding found =
      finding(frame, "UninitialisedRead",
              std::string(nounOf(here.kind)) + " of " + elementOfText(*spot.region, spot.offset) +
                  ", which nobody has stored yet",
              "fill the tensor before the launch, or store to it first");
  found.tensor = spot.region->range.name;
  found.index = indexOf(mine.element, here.shape);
  machine.report(frame, std::move(found));
}

std::vector<NeverStored> Checker::neverStored() const {
  std::vector<NeverStored> all;
  for (const auto &region : machine.memory.regions) {
    const MemoryRange &range = region->range;
    const RegionState &state = regions[region->index];
    if (range.initialized || !range.dtype)
      continue;
    NeverStored one{range.name, "", 0, 0};
    for (uint64_t offset = 0; offset < region->bytes; offset += region->elementBytes) {
      if (state.hasGaps && !elementAt(range, int64_t(offset / region->elementBytes)).inside)
        continue;
      ++one.elements;
      if (state.shadow.isStored(offset, region->elementBytes))
        continue;
      if (!one.count++)
        one.first = elementText(*region, int64_t(offset));
    }
    if (one.count)
      all.push_back(std::move(one));
  }
  return all;
}

void Checker::missingBarrier(Frame &frame, const Memory::Spot &spot, const Touch &mine,
                             const Touch &other) {
  if (machine.foundBefore(frame, "MissingBarrier", spot.region->range.name))
    return;
  const Site &here = sites[mine.site], &there = sites[other.site];
  bool isLoad = here.kind != AccessKind::Store;
  std::string element = elementOfText(*spot.region, spot.offset);
  Finding found =
      isLoad
          ? finding(frame, "MissingBarrier",
                    "load of " + element +
                        " by another thread than the one that stored it, with no barrier between",
                    "put `tl.debug_barrier()` between the store and the load; without it a GPU "
                    "may load the old value")
          : finding(frame, "MissingBarrier",
                    "store to " + element +
                        ", which another thread loads before, with no barrier between",
                    "put `tl.debug_barrier()` between the load and the store; without it a GPU "
                    "may load the new value. Lanes that update one element need an atomic");
  found.tensor = spot.region->range.name;
  found.index = indexOf(mine.element, here.shape);
  addLabel(found, machine.program.places[there.place], isLoad ? "the store" : "the load");
  machine.report(frame, std::move(found));
}

void Checker::checkRelease(Frame &frame, const Memory::Spot &spot, const Touch &mine,
                           const Touch &store) {
  if (weakReleases.empty() || !store || store.program == mine.program ||
      sites[store.site].shape.empty())
    return;
  auto it = weakReleases.find({store.program, frame.check->knows.of(store.program)});
  if (it == weakReleases.end() || store.clock < it->second.barrierAt)
    return;
  uint32_t place = it->second.place;
  const std::string &tensor = spot.region->range.name;
  if (machine.foundBefore(frame, "MissingBarrier", tensor, Severity::Error, place))
    return;
  Finding found = finding(
      frame, "MissingBarrier",
      "the release by one thread does not wait for the other threads' stores to `" + tensor + "`",
      "put `tl.debug_barrier()` between the stores and the release");
  addLabel(found, machine.program.places[sites[store.site].place], "the stores");
  addLabel(found, machine.program.places[sites[mine.site].place],
           "where " + programText(mine.program) + " relies on them");
  found.diagnostic.notes.clear();
  setPlace(found.diagnostic, machine.program.places[place]);
  found.program = programId(store.program);
  found.tensor = tensor;
  machine.report(frame, std::move(found), place);
}

static std::string sizeText(const MemoryRange &range, uint64_t elements) {
  std::string text;
  if (range.shape.size() < 2)
    return std::to_string(elements) + (range.dtype ? "" : " bytes");
  for (int64_t extent : range.shape)
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

void Checker::checkGap(Frame &frame, const AccessSite &site, const Memory::Spot &spot,
                       uint32_t element) {
  const Memory::Region &region = *spot.region;
  ElementIndex at = elementAt(region.range, int64_t(spot.offset / region.elementBytes));
  if (at.inside || machine.foundBefore(frame, "OutOfBounds", region.range.name))
    return;
  Finding found = finding(frame, "OutOfBounds",
                          std::string(nounOf(site.kind)) + " between the rows of `" +
                              region.range.name + "`: " + elementText(region, spot.offset) +
                              " is outside of " + sizeText(region.range, 0),
                          "compare each index with the tensor's own extent");
  found.tensor = region.range.name;
  found.index = indexOf(element, site.shape);
  machine.report(frame, std::move(found));
}

void Checker::outOfBounds(Frame &frame, const AccessSite &site, uint64_t address,
                          uint32_t element) {
  // An address that has wrapped was reported where it wrapped.
  if (frame.check->addresses && frame.check->tags) {
    uint64_t tag;
    const Slot &slot = *frame.check->addresses;
    if (!slot.constant) {
      std::memcpy(&tag, frame.check->tags.get() + slot.offset + 8 * size_t(element), 8);
      if (origin(uint32_t(tag), Origin::Overflow))
        return;
    }
  }
  const Memory::Region *region = machine.memory.nearest(address);
  std::string tensor = region ? region->range.name : "";
  if (machine.foundBefore(frame, "OutOfBounds", tensor))
    return;
  std::string message = std::string(nounOf(site.kind)) + " outside of ", hint;
  if (region) {
    const MemoryRange &range = region->range;
    int64_t size = region->elementBytes, offset = int64_t(address - region->begin);
    int64_t at = offset >= 0 ? offset / size : -((-offset + size - 1) / size);
    int64_t count = int64_t(region->bytes) / size;
    message += "`" + range.name + "`: " + elementText(*region, offset) + " of " +
               sizeText(range, count) + ", " +
               (at < 0 ? std::to_string(-at) + " before the start"
                       : std::to_string(at - count + 1) + " past the end");
    if (site.masked)
      hint = "the mask is true for this element: compare the offset with the size of `" +
             range.name + "`";
    else
      hint = "mask the elements outside, as in `mask=offsets < n`";
  } else {
    char text[32];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    message += std::string("every tensor: address ") + text;
    if (address < 4096)
      hint = "the pointer is null";
  }
  Finding found = finding(frame, "OutOfBounds", std::move(message), std::move(hint));
  found.tensor = std::move(tensor);
  found.index = indexOf(element, site.shape);
  machine.report(frame, std::move(found));
}

// --- values ---

void Checker::taint(Frame &frame) {
  if (!frame.check->tags)
    frame.check->tags.reset(new std::byte[frame.program.frameBytes]());
}

std::byte *Checker::noTags() {
  if (zeros.empty())
    zeros.resize(machine.program.constants.size() + 1);
  return zeros.data();
}

uint32_t Checker::originHere(Frame &frame, Origin::Kind kind) {
  auto [it, isNew] = originIndex.try_emplace({frame.place, unsigned(kind)}, origins.size() + 1);
  if (isNew)
    origins.push_back({kind, frame.place});
  return it->second;
}

void Checker::overflowReachesMemory(Frame &frame, const Origin &origin, ArrayRef<int64_t> shape,
                                    uint32_t element) {
  if (machine.foundBefore(frame, "AddressOverflow", {}, Severity::Error, origin.place))
    return;
  std::string bits = std::to_string(origin.bits);
  Finding found = finding(frame, "AddressOverflow",
                          "`" + std::to_string(origin.left) + " " + origin.operation + " " +
                              std::to_string(origin.right) + "` does not fit " + bits +
                              " bits, and the wrapped result addresses memory",
                          "widen an operand first, as in `row.to(tl.int64) * stride`");
  addLabel(found, machine.program.places[frame.place], "the access");
  found.diagnostic.notes.clear();
  setPlace(found.diagnostic, machine.program.places[origin.place]);
  found.index = indexOf(element, shape);
  machine.report(frame, std::move(found), origin.place);
}

void Checker::nanReachesMemory(Frame &frame, const Origin &origin, ArrayRef<int64_t> shape,
                               uint32_t element) {
  if (machine.foundBefore(frame, "NotANumber", {}, Severity::Error, origin.place))
    return;
  Finding found = finding(
      frame, "NotANumber", "a NaN is made here of operands that are none, and stored to memory",
      "0 / 0, inf - inf, 0 * inf and functions outside of their domain give NaN: guard "
      "the operands, or replace the result with `tl.where`");
  addLabel(found, machine.program.places[frame.place], "the store");
  found.diagnostic.notes.clear();
  setPlace(found.diagnostic, machine.program.places[origin.place]);
  found.index = indexOf(element, shape);
  machine.report(frame, std::move(found), origin.place);
}

void Checker::divisionByZero(Frame &frame) {
  machine.report(frame,
                 finding(frame, "DivisionByZero", "an integer is divided by zero",
                         "the result has no meaning that devices agree on; guard the divisor"));
}

// --- promises ---

void Checker::checkPromises(Frame &frame) {
  const CheckFacts &facts = *machine.program.checkFacts;
  for (const CheckFacts::Promise &promise : facts.promises) {
    auto *value = std::get_if<int64_t>(&machine.launch.arguments[promise.argument]);
    if (!value || promise.divisibility == 0 || *value % promise.divisibility == 0)
      continue;
    Finding found =
        finding(frame, "FalseHint",
                "argument `" + promise.name + "` was compiled as a multiple of " +
                    std::to_string(promise.divisibility) + " and is " + std::to_string(*value),
                "compile for this value, or pass one that keeps the promise");
    found.diagnostic.notes.clear();
    setPlace(found.diagnostic, facts.loc);
    found.tensor = promise.name;
    machine.report(frame, std::move(found));
  }
}

void Checker::hint(Frame &frame, const HintFacts &facts, const std::vector<int64_t> &values) {
  auto tell = [&](size_t element, const char *function, std::string message) {
    Finding found = finding(frame, "FalseHint", std::move(message),
                            std::string("compiled code relies on `") + function +
                                "` and goes wrong where it is false");
    found.index = indexOf(element, facts.shape);
    machine.report(frame, std::move(found));
  };
  auto at = [&](size_t element) {
    return values.size() == 1 && facts.shape.empty() ? std::string("the value")
                                                     : "value " + std::to_string(element);
  };
  size_t rank = std::max<size_t>(1, facts.shape.size());
  size_t inner = 1;
  for (size_t dim = rank; dim-- > 0;) {
    size_t extent = facts.shape.empty() ? 1 : facts.shape[dim];
    auto wanted = [&](const std::vector<int64_t> &list) {
      return list.empty() ? int64_t(1) : list[std::min(dim, list.size() - 1)];
    };
    int64_t divisor = wanted(facts.divisibility), run = wanted(facts.contiguity),
            equal = wanted(facts.constancy);
    for (size_t i = 0; i < values.size(); ++i) {
      size_t k = i / inner % extent;
      int64_t step = k == 0 ? 0 : int64_t(uint64_t(values[i]) - uint64_t(values[i - inner]));
      // Aligned groups of so many values follow each other, or are equal.
      if (run > 1 && k % run != 0 && step != facts.unit)
        return tell(i, "tl.max_contiguous",
                    "values were promised to come in runs of " + std::to_string(run) + ", but " +
                        at(i) + " is " + std::to_string(values[i]) + " after " +
                        std::to_string(values[i - inner]));
      if (equal > 1 && k % equal != 0 && step != 0)
        return tell(i, "tl.max_constancy",
                    "values were promised to be equal in groups of " + std::to_string(equal) +
                        ", but " + at(i) + " is " + std::to_string(values[i]) + " after " +
                        std::to_string(values[i - inner]));
      // The first value of each run of consecutive ones.
      if (divisor > 1 && (k == 0 || step != facts.unit) && values[i] % divisor != 0)
        return tell(i, "tl.multiple_of",
                    at(i) + " was promised to be a multiple of " + std::to_string(divisor) +
                        (facts.unit == 1
                             ? " and is " + std::to_string(values[i])
                             : " and is an address " +
                                   std::to_string(uint64_t(values[i]) % divisor) + " past one"));
    }
    inner *= extent;
  }
}

} // namespace nereid::ref
