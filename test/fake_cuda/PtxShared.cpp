#include "PtxShared.h"

#include "PtxCode.h"

#include <cstdio>
#include <cstring>

namespace ptx {

namespace {

std::string hexadecimal(const uint8_t *data, unsigned bytes) {
  std::string out;
  char text[3];
  for (unsigned i = bytes; data && i-- > 0;) {
    std::snprintf(text, sizeof text, "%02x", data[i]);
    out += text;
  }
  return out.empty() ? "a copy" : out;
}

} // namespace

SharedMemory::SharedMemory(size_t bytes, unsigned warps)
    : warps(warps), data(bytes), written(bytes), reads(bytes * warps), filling(bytes),
      reading(bytes), isBarrier(bytes) {}

void SharedMemory::begin() {
  std::fill(data.begin(), data.end(), uint8_t(0xff));
  std::fill(filling.begin(), filling.end(), uint16_t(0));
  std::fill(reading.begin(), reading.end(), uint16_t(0));
  std::fill(isBarrier.begin(), isBarrier.end(), uint8_t(0));
}

std::string SharedMemory::textOf(Range range) {
  return std::to_string(range.bytes) + " bytes at " + std::to_string(range.at) +
         " of shared memory";
}

std::string SharedMemory::agentText(unsigned agent) const {
  return agent < warps
             ? "warp " + std::to_string(agent)
             : "a copy that the mbarrier at " + std::to_string(barriers[agent - warps]) + " counts";
}

unsigned SharedMemory::agentOf(uint64_t mbarrier) {
  auto found = std::find(barriers.begin(), barriers.end(), mbarrier);
  if (found == barriers.end()) {
    if (warps + barriers.size() == Steps::most)
      fail("the model does not know so many mbarriers");
    found = barriers.insert(found, mbarrier);
  }
  return warps + unsigned(found - barriers.begin());
}

void SharedMemory::check(Range range) const {
  if (range.at > data.size() || range.bytes > data.size() - range.at ||
      range.at % std::min(range.bytes, 16u))
    fail(textOf(range) + " are outside of its " + std::to_string(data.size()) + ", or not aligned");
}

void SharedMemory::checkFree(Range range, bool writes) const {
  const char *what = writes ? " are written" : " are read";
  for (unsigned i = 0; i < range.bytes; ++i) {
    if (filling[range.at + i])
      fail(textOf(range) + what + " while a copy fills them");
    if (writes && reading[range.at + i])
      fail(textOf(range) + " are written while a product or a bulk copy still reads them");
    if (isBarrier[range.at + i])
      fail(textOf(range) + what + " where an mbarrier is");
  }
}

void SharedMemory::noteRead(Range range, const Toucher &by) {
  check(range);
  checkFree(range, false);
  Stamp before;
  for (unsigned i = 0; i < range.bytes; ++i) {
    const Stamp &stamp = written[range.at + i];
    if (stamp == before)
      continue;
    before = stamp;
    if (by.knows.seen.of[stamp.agent] < stamp.step)
      fail(textOf(range) + " are read by warp " + std::to_string(by.warp) + " and written by " +
           agentText(stamp.agent) + " without a barrier between");
    if (by.isAsync && stamp.isGeneric && by.knows.fenced.of[stamp.agent] < stamp.step)
      fail(textOf(range) + " are read by the async proxy and written by " + agentText(stamp.agent) +
           " without `fence.proxy.async` between");
  }
  if (!by.isAsync)
    std::fill_n(reads.begin() + long(by.warp * data.size() + range.at), range.bytes,
                by.knows.seen.of[by.warp]);
}

void SharedMemory::noteWrite(Range range, const Toucher &by, const uint8_t *values) {
  check(range);
  checkFree(range, true);
  auto isSame = [&](unsigned i) { return values && data[range.at + i] == values[i]; };
  for (unsigned w = 0; w < warps; ++w) {
    const uint32_t *last = &reads[w * data.size() + range.at];
    uint32_t seen = by.knows.seen.of[w], latest = 0;
    for (unsigned i = 0; i < range.bytes; ++i)
      latest = std::max(latest, last[i]);
    if (latest <= seen || w == by.warp)
      continue;
    for (unsigned i = 0; i < range.bytes; ++i)
      if (last[i] > seen && !isSame(i))
        fail(textOf(range) + " are written by warp " + std::to_string(by.warp) +
             " and read by warp " + std::to_string(w) + " without a barrier between");
  }
  for (unsigned i = 0; i < range.bytes; ++i) {
    Stamp &stamp = written[range.at + i];
    if (stamp.step > by.knows.seen.of[stamp.agent] && !isSame(i))
      fail(textOf(range) + " are written by warp " + std::to_string(by.warp) + " and by " +
           agentText(stamp.agent) + " without a barrier between, as " +
           hexadecimal(values, range.bytes) + " over " + hexadecimal(&data[range.at], range.bytes));
    if (by.isAsync && stamp.isGeneric && stamp.step > by.knows.fenced.of[stamp.agent])
      fail(textOf(range) + " are written by the async proxy and by " + agentText(stamp.agent) +
           " without `fence.proxy.async` between");
    stamp = {by.knows.seen.of[by.warp], uint8_t(by.warp), !by.isAsync};
  }
}

void SharedMemory::beginFilling(Range range, const Toucher &by) {
  noteWrite(range, by, nullptr);
  for (unsigned i = 0; i < range.bytes; ++i)
    ++filling[range.at + i];
}

void SharedMemory::filled(Range range, unsigned agent, uint32_t step, bool isGeneric) {
  for (unsigned i = 0; i < range.bytes; ++i) {
    --filling[range.at + i];
    written[range.at + i] = {step, uint8_t(agent), isGeneric};
  }
}

void SharedMemory::beginReading(Range range, const Toucher &by) {
  noteRead(range, by);
  for (unsigned i = 0; i < range.bytes; ++i)
    ++reading[range.at + i];
}

void SharedMemory::wasRead(Range range, unsigned warp, uint32_t step) {
  for (unsigned i = 0; i < range.bytes; ++i)
    --reading[range.at + i];
  std::fill_n(reads.begin() + long(warp * data.size() + range.at), range.bytes, step);
}

void SharedMemory::setBarrier(uint64_t place, bool isOne) {
  std::fill_n(isBarrier.begin() + long(place), 8, uint8_t(isOne));
}

} // namespace ptx
