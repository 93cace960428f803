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
  std::string value;    ///< the element, as its type prints
  std::string message;  ///< of the site
  std::string location; ///< "file:line:column, called from ...", or empty

  /// One line:
  ///   pid (3, 0, 0) idx (1, 7) x: 2.5
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

} // namespace nereid::support
