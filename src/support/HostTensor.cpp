#include "support/HostTensor.h"

#include "support/FloatFormat.h"
#include "support/Hash.h"
#include "support/HostMemory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <numbers>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace nereid::support {

namespace {

constexpr size_t alignment = 64;
constexpr uint64_t maxBytes = uint64_t(1) << 40;

// Philox 4x32-10 (Salmon et al., SC'11): 128 random bits of a counter under a key.
struct Random {
  explicit Random(std::string_view seed) {
    uint64_t hash = hash64(seed.data(), seed.size());
    key[0] = uint32_t(hash);
    key[1] = uint32_t(hash >> 32);
  }
  void draw(uint64_t index, uint32_t (&out)[4]) const {
    uint32_t c[4] = {uint32_t(index), uint32_t(index >> 32), 0, 0}, k[2] = {key[0], key[1]};
    for (int round = 0; round < 10; ++round) {
      uint64_t a = uint64_t(0xD2511F53) * c[0], b = uint64_t(0xCD9E8D57) * c[2];
      uint32_t next[4] = {uint32_t(b >> 32) ^ c[1] ^ k[0], uint32_t(b),
                          uint32_t(a >> 32) ^ c[3] ^ k[1], uint32_t(a)};
      std::memcpy(c, next, sizeof c);
      k[0] += 0x9E3779B9;
      k[1] += 0xBB67AE85;
    }
    std::memcpy(out, c, sizeof c);
  }
  uint64_t bits(uint64_t index) const {
    uint32_t r[4];
    draw(index, r);
    return uint64_t(r[1]) << 32 | r[0];
  }
  // In [0, 1), 53 bits.
  double uniform(uint64_t index) const { return double(bits(index) >> 11) * 0x1p-53; }
  uint32_t key[2];
};

// Calls `body(begin, end)` over the elements, on all processors where that pays. Ranges begin at
// even numbers. An element's number depends on its index alone, so the result does not depend on
// the cut as long as no two elements share a place.
template <typename Body> void overRanges(int64_t n, Body body) {
  constexpr int64_t grain = 1 << 18;
  int64_t threads = std::min<int64_t>(std::thread::hardware_concurrency(), n / grain);
  if (threads <= 1)
    return body(int64_t(0), n);
  int64_t each = (n / threads + 2) & ~int64_t(1);
  std::vector<std::jthread> running;
  for (int64_t begin = 0; begin < n; begin += each)
    running.emplace_back([=] { body(begin, std::min(n, begin + each)); });
}

// Whether two elements may lie at one place: strides of 0, or rows that reach into each other.
bool mayOverlap(const HostTensor &tensor) {
  if (tensor.isDense() || tensor.numel() == 0)
    return false;
  std::vector<std::pair<int64_t, int64_t>> steps; // stride and extent
  for (size_t d = 0; d < tensor.shape().size(); ++d)
    if (tensor.shape()[d] > 1)
      steps.emplace_back(tensor.strides()[d], tensor.shape()[d]);
  std::ranges::sort(steps);
  int64_t reach = 0; // from the first element to the last one of the smaller strides
  for (auto [stride, extent] : steps) {
    if (stride <= reach)
      return true;
    reach += stride * (extent - 1);
  }
  return false;
}

// Of a tensor: elements that share a place are written in order.
template <typename Body> void overRanges(const HostTensor &tensor, Body body) {
  if (mayOverlap(tensor))
    return body(int64_t(0), tensor.numel());
  overRanges(tensor.numel(), body);
}

// What each pattern of bits of a float of at most 16 bits means.
const std::vector<double> &decoded(DType type) {
  constexpr size_t types = size_t(DType::Float8E4B15) + 1; // the last one
  static std::array<std::vector<double>, types> tables;
  static std::array<std::once_flag, types> made;
  std::vector<double> &table = tables[size_t(type)];
  std::call_once(made[size_t(type)], [&] {
    table.resize(size_t(1) << (8 * info(type).bytes));
    for (size_t bits = 0; bits < table.size(); ++bits)
      table[bits] = decodeFloat(formatOf(type), uint32_t(bits));
  });
  return table;
}

template <typename Bits> void fill(std::byte *memory, size_t bytes, Bits bits) {
  overRanges(int64_t(bytes / sizeof bits), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(memory + size_t(i) * sizeof bits, &bits, sizeof bits);
  });
}

bool isInteger(DType type) { return !info(type).isFloat; }

int64_t greatest(DType type) {
  switch (type) {
  case DType::Int1:
    return 1;
  case DType::UInt64:
    return -1;
  default: {
    unsigned valueBits = info(type).bits - (info(type).isSigned ? 1 : 0);
    return int64_t((uint64_t(1) << valueBits) - 1);
  }
  }
}
int64_t least(DType type) {
  return info(type).isSigned && isInteger(type) ? int64_t(~uint64_t(0) << (info(type).bits - 1))
                                                : 0;
}

} // namespace

namespace {

std::atomic<bool> isFenced = false;

using Memory = std::shared_ptr<std::byte>;

Memory allocated(size_t bytes) {
  return Memory(static_cast<std::byte *>(allocateHost(bytes, alignment)),
                [](std::byte *p) { std::free(p); });
}

// The end lies less than an alignment in front of a page without access.
Memory allocatedFenced(size_t bytes) {
  const size_t page = size_t(::sysconf(_SC_PAGESIZE));
  const size_t room = (bytes + alignment - 1) / alignment * alignment;
  const size_t pages = (room + page - 1) / page * page;
  void *mapped = ::mmap(nullptr, pages + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return nullptr;
  auto *start = static_cast<std::byte *>(mapped);
  ::mprotect(start + pages, page, PROT_NONE);
  return Memory(start + pages - room, [=](std::byte *) { ::munmap(mapped, pages + page); });
}

} // namespace

// The system promises more than there is, and ends processes that believe it.
static void checkFits(size_t bytes, const std::vector<int64_t> &shape) {
  const size_t memory = size_t(::sysconf(_SC_PHYS_PAGES)) * size_t(::sysconf(_SC_PAGESIZE));
  if (bytes > memory)
    throw ArrayError{"a tensor of shape " + shapeText(shape) + " takes " +
                     std::to_string(bytes >> 20) + " MiB; this machine has " +
                     std::to_string(memory >> 20) + " MiB"};
}

void HostTensor::fence(bool wanted) { isFenced = wanted; }

HostTensor::HostTensor(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
                       int64_t offset, Content content)
    : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)), offset_(offset) {
  if (strides_.empty()) {
    strides_.assign(shape_.size(), 1);
    for (size_t d = shape_.size(); d-- > 1;)
      strides_[d - 1] = int64_t(uint64_t(strides_[d]) * uint64_t(shape_[d]));
  }
  if (strides_.size() != shape_.size())
    throw ArrayError{"strides of rank " + std::to_string(strides_.size()) + " for shape " +
                     shapeText(shape_)};
  // The last element's place bounds the allocation.
  unsigned __int128 last = offset < 0 ? 0 : uint64_t(offset), count = 1;
  bool empty = false;
  for (size_t d = 0; d < shape_.size(); ++d) {
    if (shape_[d] < 0 || strides_[d] < 0 || offset < 0)
      throw ArrayError{"negative extent, stride or offset in a tensor of shape " +
                       shapeText(shape_)};
    empty |= shape_[d] == 0;
    count *= uint64_t(shape_[d]);
    if (shape_[d])
      last += (unsigned __int128)(uint64_t(shape_[d]) - 1) * uint64_t(strides_[d]);
    if (count > maxBytes || last > maxBytes)
      throw ArrayError{"a tensor of shape " + shapeText(shape_) + " is too large"};
  }
  int64_t dense = 1;
  for (size_t d = shape_.size(); d-- > 0; dense *= shape_[d])
    dense_ &= strides_[d] == dense || shape_[d] <= 1;
  size_t elements = empty ? size_t(offset) : size_t(last) + 1;
  bytes_ = elements * elementBytes();
  if (content == Content::Poison)
    checkFits(bytes_, shape_);
  memory_ = isFenced ? allocatedFenced(bytes_) : allocated(bytes_);
  if (!memory_)
    throw ArrayError{"no memory for a tensor of shape " + shapeText(shape_) + " (" +
                     std::to_string(bytes_) + " bytes)"};
  if (content == Content::Poison)
    poison();
}

int64_t HostTensor::numel() const {
  int64_t count = 1;
  for (int64_t extent : shape_)
    count *= extent;
  return count;
}

size_t HostTensor::addressOf(int64_t index) const {
  if (dense_)
    return size_t(offset_ + index) * elementBytes();
  int64_t place = offset_;
  for (size_t d = shape_.size(); d-- > 0;) {
    place += index % shape_[d] * strides_[d];
    index /= shape_[d];
  }
  return size_t(place) * elementBytes();
}

void HostTensor::set(int64_t index, double value) {
  if (isInteger(dtype_)) {
    Array exact = Array::scalar(value); // saturating, NaN gives 0
    setInt(index, exact.intAt(0));
    return;
  }
  std::byte *to = memory_.get() + addressOf(index);
  if (dtype_ == DType::Float64) {
    std::memcpy(to, &value, 8);
  } else if (dtype_ == DType::Float32) {
    float narrow = static_cast<float>(value);
    std::memcpy(to, &narrow, 4);
  } else {
    uint32_t bits = encodeFloat(formatOf(dtype_), value);
    std::memcpy(to, &bits, elementBytes());
  }
}

void HostTensor::setInt(int64_t index, int64_t value) {
  if (!isInteger(dtype_)) {
    set(index, double(value));
    return;
  }
  if (dtype_ == DType::Int1)
    value = value != 0;
  std::memcpy(memory_.get() + addressOf(index), &value, elementBytes());
}

double HostTensor::get(int64_t index) const {
  if (isInteger(dtype_)) {
    int64_t value = getInt(index);
    return dtype_ == DType::UInt64 ? double(uint64_t(value)) : double(value);
  }
  const std::byte *from = memory_.get() + addressOf(index);
  if (dtype_ == DType::Float64) {
    double value;
    std::memcpy(&value, from, 8);
    return value;
  }
  uint32_t bits = 0;
  std::memcpy(&bits, from, elementBytes());
  return dtype_ == DType::Float32 ? double(std::bit_cast<float>(bits))
                                  : decodeFloat(formatOf(dtype_), bits);
}

int64_t HostTensor::getInt(int64_t index) const {
  if (!isInteger(dtype_))
    return Array::scalar(get(index)).intAt(0);
  uint64_t bits = 0;
  std::memcpy(&bits, memory_.get() + addressOf(index), elementBytes());
  unsigned unused = 64 - 8 * elementBytes();
  return info(dtype_).isSigned ? int64_t(bits << unused) >> unused : int64_t(bits);
}

Array HostTensor::toArray() const {
  Array out(dtype_ == DType::Int1 ? Array::Kind::Bool
            : isInteger(dtype_)   ? Array::Kind::Int
                                  : Array::Kind::Float,
            shape_);
  overRanges(out.size(), [this, &out](int64_t begin, int64_t end) {
    if (out.kind() == Array::Kind::Float)
      return read(begin, end, out.floats().data() + begin);
    for (int64_t i = begin; i < end; ++i)
      if (out.kind() == Array::Kind::Bool)
        out.bools()[i] = getInt(i) != 0;
      else
        out.ints()[i] = getInt(i);
  });
  return out;
}

void HostTensor::read(int64_t begin, int64_t end, double *out) const {
  if (!dense_ || isInteger(dtype_)) {
    for (int64_t i = begin; i < end; ++i)
      *out++ = get(i);
    return;
  }
  auto each = [&](auto bits, auto value) {
    const std::byte *from = memory_.get() + addressOf(begin);
    for (int64_t i = begin; i < end; ++i, from += sizeof bits) {
      std::memcpy(&bits, from, sizeof bits);
      *out++ = value(bits);
    }
  };
  if (dtype_ == DType::Float64)
    return each(double(), [](double value) { return value; });
  if (dtype_ == DType::Float32)
    return each(float(), [](float value) { return double(value); });
  auto meaning = [table = decoded(dtype_).data()](auto bits) { return table[bits]; };
  if (elementBytes() == 2)
    each(uint16_t(), meaning);
  else
    each(uint8_t(), meaning);
}

void HostTensor::fromArray(const Array &array) {
  if (array.size() != numel())
    throw ArrayError{"values of shape " + shapeText(array.shape()) + " for a tensor of shape " +
                     shapeText(shape_)};
  for (int64_t i = 0; i < array.size(); ++i)
    if (array.kind() == Array::Kind::Float)
      set(i, array.floatAt(i));
    else
      setInt(i, array.intAt(i));
}

std::vector<uint8_t> HostTensor::packed() const {
  std::vector<uint8_t> out(numel() * elementBytes());
  for (int64_t i = 0; i < numel(); ++i)
    std::memcpy(out.data() + i * elementBytes(), memory_.get() + addressOf(i), elementBytes());
  return out;
}

void HostTensor::unpack(const uint8_t *bytes) {
  for (int64_t i = 0; i < numel(); ++i)
    std::memcpy(memory_.get() + addressOf(i), bytes + i * elementBytes(), elementBytes());
}

void HostTensor::poison() {
  // e4b15 has no NaN: its bits of greatest value serve.
  uint64_t bits = isInteger(dtype_) ? uint64_t(greatest(dtype_))
                  : dtype_ == DType::Float64
                      ? 0x7ff8dead7ff8deadull
                      : encodeFloat(formatOf(dtype_), std::numeric_limits<double>::quiet_NaN());
  switch (elementBytes()) {
  case 1:
    return fill(memory_.get(), bytes_, uint8_t(bits));
  case 2:
    return fill(memory_.get(), bytes_, uint16_t(bits));
  case 4:
    return fill(memory_.get(), bytes_, uint32_t(bits));
  default:
    return fill(memory_.get(), bytes_, bits);
  }
}

void fillNormal(HostTensor &tensor, std::string_view seed, double mean, double deviation) {
  Random random(seed);
  overRanges(tensor, [&tensor, random, mean, deviation](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += 2) {
      // Box-Muller gives two; 1 - u is never 0.
      uint32_t r[4];
      random.draw(uint64_t(i), r);
      double u = double((uint64_t(r[1]) << 32 | r[0]) >> 11) * 0x1p-53,
             v = double((uint64_t(r[3]) << 32 | r[2]) >> 11) * 0x1p-53;
      double radius = std::sqrt(-2 * std::log1p(-u)), angle = 2 * std::numbers::pi * v;
      tensor.set(i, mean + deviation * radius * std::cos(angle));
      if (i + 1 < end)
        tensor.set(i + 1, mean + deviation * radius * std::sin(angle));
    }
  });
}

void fillUniform(HostTensor &tensor, std::string_view seed, double low, double high) {
  Random random(seed);
  overRanges(tensor, [&tensor, random, low, high](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      tensor.set(i, low + (high - low) * random.uniform(uint64_t(i)));
  });
}

void fillInteger(HostTensor &tensor, std::string_view seed, int64_t low, int64_t high) {
  Random random(seed);
  if (high <= low)
    throw ArrayError{"no integer x with " + std::to_string(low) + " <= x < " +
                     std::to_string(high)};
  uint64_t range = uint64_t(high) - uint64_t(low);
  overRanges(tensor, [&tensor, random, low, range](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      tensor.setInt(i,
                    int64_t(uint64_t(low) +
                            uint64_t((unsigned __int128)random.bits(uint64_t(i)) * range >> 64)));
  });
}

void fillPermutation(HostTensor &tensor, std::string_view seed) {
  Random random(seed);
  std::vector<int64_t> order(tensor.numel());
  for (size_t i = 0; i < order.size(); ++i) {
    // Inside-out Fisher-Yates.
    size_t j = size_t((unsigned __int128)random.bits(i) * (i + 1) >> 64);
    order[i] = order[j];
    order[j] = int64_t(i);
  }
  for (size_t i = 0; i < order.size(); ++i)
    tensor.setInt(int64_t(i), order[i]);
}

void fillRange(HostTensor &tensor, int64_t start, int64_t step) {
  for (int64_t i = 0, n = tensor.numel(); i < n; ++i)
    tensor.setInt(i, int64_t(uint64_t(start) + uint64_t(i) * uint64_t(step)));
}

void fillValue(HostTensor &tensor, double value) {
  overRanges(tensor, [&tensor, value](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      tensor.set(i, value);
  });
}

void fillSpecial(HostTensor &tensor) {
  DType type = tensor.dtype();
  if (isInteger(type)) {
    const int64_t values[] = {0, 1, greatest(type), least(type), -1, greatest(type) - 1};
    for (int64_t i = 0, n = tensor.numel(); i < n; ++i)
      tensor.setInt(i, values[i % 6]);
    return;
  }
  double smallest, largest;
  if (type == DType::Float64) {
    smallest = std::numeric_limits<double>::denorm_min();
    largest = std::numeric_limits<double>::max();
  } else {
    FloatFormat format = formatOf(type);
    smallest = decodeFloat(format, 1);
    largest = decodeFloat(
        format, encodeFloat(format, std::numeric_limits<double>::max(), Round::TowardsZero));
  }
  const double values[] = {0.0, -0.0,     1.0,       -1.0,    INFINITY, -INFINITY,
                           NAN, smallest, -smallest, largest, -largest, 0.5};
  for (int64_t i = 0, n = tensor.numel(); i < n; ++i)
    tensor.set(i, values[i % 12]);
}

void plantSpecial(HostTensor &tensor) {
  FloatFormat format;
  const bool isDouble = tensor.dtype() == DType::Float64;
  if (!isDouble)
    format = formatOf(tensor.dtype());
  const double smallest =
      isDouble ? std::numeric_limits<double>::denorm_min() : decodeFloat(format, 1);
  const double small[] = {0.0, -0.0, smallest, -smallest};
  const int64_t n = tensor.numel();
  if (tensor.shape().size() < 2) {
    const double values[] = {0.0, -0.0, smallest, -smallest, INFINITY, -INFINITY, NAN};
    for (int64_t i = 1; i < n; i += 2)
      tensor.set(i, values[i / 2 % 7]);
    return;
  }
  const int64_t width = tensor.shape().back();
  for (int64_t row = 0; width > 0 && row < n / width; ++row) {
    auto at = [&](int64_t column, double value) { tensor.set(row * width + column, value); };
    switch (row % 6) {
    case 1:
      for (int64_t column = 0; column < width; ++column)
        at(column, small[column % 4]);
      break;
    case 2:
      at(width / 2, NAN);
      break;
    case 3:
      at(width / 3, INFINITY);
      break;
    case 4:
      at(width / 3, -INFINITY);
      break;
    case 5:
      at(width / 3, INFINITY);
      at(width / 2, -INFINITY);
      break;
    default:
      break; // as it is, so that a neighbour's values are seen where they spread
    }
  }
}

Comparison compare(const HostTensor &got, const Array &want, Tolerance tolerance) {
  if (want.size() != got.numel())
    throw ArrayError{"the reference has shape " + shapeText(want.shape()) + ", the result " +
                     shapeText(got.shape())};
  bool exact = isInteger(got.dtype()) && want.kind() != Array::Kind::Float;
  struct Part {
    int64_t begin;
    double worst = -1; // error over tolerance
    Comparison found;
  };
  std::vector<Part> parts;
  std::mutex adding;
  overRanges(want.size(), [&](int64_t begin, int64_t end) {
    Part part{begin, -1, {}};
    Comparison &out = part.found;
    constexpr int64_t atOnce = 1024;
    double values[atOnce];
    for (int64_t i = begin; i < end; ++i) {
      double error, allowed, g, w;
      if (exact) {
        int64_t a = got.getInt(i), b = want.intAt(i);
        g = double(a), w = double(b);
        error = a == b ? 0 : std::max(1.0, std::fabs(g - w));
        allowed = 0;
      } else {
        if ((i - begin) % atOnce == 0)
          got.read(i, std::min(end, i + atOnce), values);
        g = values[(i - begin) % atOnce], w = want.floatAt(i);
        allowed = tolerance.absolute + tolerance.relative * std::fabs(w);
        bool alike = (std::isnan(g) && std::isnan(w)) || g == w;
        // NaN or an infinity against anything else is infinitely wrong.
        error = alike ? 0 : std::isfinite(g) && std::isfinite(w) ? std::fabs(g - w) : INFINITY;
        if (!std::isfinite(allowed))
          allowed = 0;
      }
      bool passed = error <= allowed;
      out.failures += !passed;
      double badness = passed        ? (allowed > 0 ? error / allowed : 0)
                       : allowed > 0 ? error / allowed
                                     : INFINITY;
      if (badness > part.worst) {
        part.worst = badness;
        out.worstIndex = i, out.error = error, out.tolerance = allowed, out.got = g, out.want = w;
      }
    }
    std::lock_guard lock(adding);
    parts.push_back(std::move(part));
  });
  // The first of the worst, however the elements were shared out.
  std::ranges::sort(parts, {}, &Part::begin);
  Part all{0, -1, {}};
  for (const Part &part : parts) {
    int64_t failures = all.found.failures + part.found.failures;
    if (part.worst > all.worst)
      all = part;
    all.found.failures = failures;
  }
  all.found.passed = all.found.failures == 0;
  return all.found;
}

} // namespace nereid::support
