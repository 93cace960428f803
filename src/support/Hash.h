// Content hashes: XXH3, 128 bits. For keys of caches and for checksums, not for security.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nereid::support {

/// A 128-bit content hash in canonical (big-endian) byte order: equal on every machine.
struct Hash128 {
  std::array<uint8_t, 16> bytes{};

  bool operator==(const Hash128 &) const = default;
  auto operator<=>(const Hash128 &) const = default;

  /// 32 lower-case hexadecimal digits.
  std::string hex() const;
  static std::optional<Hash128> fromHex(std::string_view digits);
};

Hash128 hash128(const void *data, size_t size);
inline Hash128 hash128(std::string_view text) { return hash128(text.data(), text.size()); }

uint64_t hash64(const void *data, size_t size);

/// Hashes a sequence of fields. Each field is framed by its length, so ("ab", "c") and ("a", "bc")
/// differ.
class Hasher {
public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher &) = delete;
  Hasher &operator=(const Hasher &) = delete;

  Hasher &add(std::string_view text);
  Hasher &add(std::span<const uint8_t> bytes);
  Hasher &add(uint64_t value);
  Hasher &add(const Hash128 &hash);

  Hash128 finish() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace nereid::support
