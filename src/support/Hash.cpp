#include "support/Hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nereid::support {

namespace {
Hash128 canonical(XXH128_hash_t hash) {
  XXH128_canonical_t text;
  XXH128_canonicalFromHash(&text, hash);
  Hash128 result;
  std::copy(std::begin(text.digest), std::end(text.digest), result.bytes.begin());
  return result;
}

int digitValue(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return -1;
}
} // namespace

std::string Hash128::hex() const {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (uint8_t byte : bytes) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 15]);
  }
  return text;
}

std::optional<Hash128> Hash128::fromHex(std::string_view digits) {
  if (digits.size() != 32)
    return std::nullopt;
  Hash128 result;
  for (size_t i = 0; i < 16; ++i) {
    int high = digitValue(digits[2 * i]), low = digitValue(digits[2 * i + 1]);
    if (high < 0 || low < 0)
      return std::nullopt;
    result.bytes[i] = uint8_t(high << 4 | low);
  }
  return result;
}

Hash128 hash128(const void *data, size_t size) { return canonical(XXH3_128bits(data, size)); }

uint64_t hash64(const void *data, size_t size) { return XXH3_64bits(data, size); }

struct Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state(std::make_unique<State>()) { XXH3_128bits_reset(&state->xxh); }
Hasher::~Hasher() = default;

Hasher &Hasher::add(std::string_view text) {
  add(uint64_t(text.size()));
  XXH3_128bits_update(&state->xxh, text.data(), text.size());
  return *this;
}

Hasher &Hasher::add(std::span<const uint8_t> bytes) {
  return add(std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
}

Hasher &Hasher::add(uint64_t value) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; ++i)
    bytes[i] = uint8_t(value >> (8 * i));
  XXH3_128bits_update(&state->xxh, bytes, sizeof bytes);
  return *this;
}

Hasher &Hasher::add(const Hash128 &hash) { return add(std::span<const uint8_t>(hash.bytes)); }

Hash128 Hasher::finish() const { return canonical(XXH3_128bits_digest(&state->xxh)); }

} // namespace nereid::support
