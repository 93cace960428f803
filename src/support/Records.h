// Reads the records that kernels write (contract 8): `device_print`, `device_assert`, findings of a
// checking build. The record is compact (support/LaunchAbi.h); its words are in the artifact.
#pragma once

#include "support/Artifact.h"
#include "support/LaunchAbi.h"

#include <array>
#include <span>
#include <string>
#include <vector>

namespace nereid::support {

/// A record in words.
struct DecodedRecord {
  RecordKind kind = RecordKind::None;
  std::array<uint32_t, 3> program = {};
  std::vector<uint32_t> index; ///< of the element in its tile; empty for a scalar
  uint32_t operand = 0;
  std::string operandName;
  std::string value;    ///< the element: of a print as `printElement`, else as `formatElement`
  std::string place;    ///< " idx (...)" of a print with values
  std::string message;  ///< of the site; of a print it begins with its separator
  std::string location; ///< "file:line:column, called from ...", or empty

  /// One line:
  ///   pid (3, 0, 0) idx (1, 7) x: 2.500000
  ///   kernel.py:12:5: assertion failed: `n > 0` at pid (3, 0, 0) idx (1, 7)
  std::string text() const;
};

/// Decodes records of one kernel. With `sorted`, programs come in ascending order (x fastest), and
/// each program's records in the order in which it wrote them. Records that make no sense (their
/// memory was overwritten) are skipped.
std::vector<DecodedRecord> decodeRecords(const Artifact &artifact, std::span<const Record> records,
                                         bool sorted = true);

/// The bits of an element as a person writes it.
std::string formatElement(DType type, uint64_t bits, bool hex = false, bool isPointer = false);
/// The bits of an element as Triton's `device_print` has printf write it: "2.500000", "0x1.4p+1".
std::string printElement(DType type, uint64_t bits, bool hex = false, bool isPointer = false);
/// "idx ( 3, 7)": indices right-aligned to the width of the greatest one.
std::string printIndex(std::span<const uint32_t> index, std::span<const uint32_t> shape);

} // namespace nereid::support
