#include "support/Records.h"

#include "support/FloatFormat.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace nereid::support {

namespace {
template <typename Number> std::string shortest(Number value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end);
  if (text.find_first_of(".e") == text.npos)
    text += ".0";
  return text;
}

template <typename List> std::string parenthesized(const List &numbers) {
  std::string text = "(";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + ")";
}
} // namespace

std::string formatElement(DType type, uint64_t bits, bool hex, bool isPointer) {
  const DTypeInfo &facts = info(type);
  unsigned width = isPointer ? 64 : facts.bytes * 8u;
  uint64_t mask = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  bits &= mask;
  if (hex || isPointer) {
    char buffer[20];
    auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, bits, 16);
    std::string digits(buffer, end);
    return "0x" + std::string(width / 4 - digits.size(), '0') + digits;
  }
  if (facts.isFloat) {
    if (type == DType::Float64)
      return shortest(std::bit_cast<double>(bits));
    if (type == DType::Float32)
      return shortest(std::bit_cast<float>(uint32_t(bits)));
    return shortest(float(decodeFloat(formatOf(type), uint32_t(bits))));
  }
  if (type == DType::Int1)
    return bits ? "True" : "False";
  if (facts.isSigned)
    return std::to_string(int64_t(bits << (64 - width)) >> (64 - width));
  return std::to_string(bits);
}

std::string printElement(DType type, uint64_t bits, bool hex, bool isPointer) {
  const DTypeInfo &facts = info(type);
  char buffer[400]; // the greatest f64 has 309 digits
  if (isPointer) {
    snprintf(buffer, sizeof buffer, "0x%llx", (unsigned long long)bits);
  } else if (facts.isFloat) {
    double value = type == DType::Float64 ? std::bit_cast<double>(bits)
                                          : decodeFloat(formatOf(type), uint32_t(bits));
    snprintf(buffer, sizeof buffer, hex ? "%a" : "%f", value);
  } else if (type == DType::Int1 && !hex) {
    return bits & 1 ? "1" : "0";
  } else {
    return formatElement(type, bits, hex);
  }
  return buffer;
}

std::string printIndex(std::span<const uint32_t> index, std::span<const uint32_t> shape) {
  std::string text = "idx (";
  for (size_t axis = 0; axis < index.size(); ++axis) {
    std::string at = std::to_string(index[axis]);
    size_t width = std::to_string(std::max(shape[axis], 1u) - 1).size();
    text += (axis ? ", " : "") + std::string(width - std::min(width, at.size()), ' ') + at;
  }
  return text + ")";
}

std::string DecodedRecord::text() const {
  std::string where = "pid " + parenthesized(program);
  if (kind == RecordKind::Print)
    return where + place + message + value;
  if (!index.empty())
    where += " idx " + parenthesized(index);
  std::string text = location.empty() ? "" : location + ": ";
  text += kind == RecordKind::Assert ? "assertion failed: " : "check failed: ";
  text += message + " at " + where;
  if (!value.empty())
    text += " (" + (operandName.empty() ? "value" : operandName) + " = " + value + ")";
  return text;
}

std::vector<DecodedRecord> decodeRecords(const Artifact &artifact, std::span<const Record> records,
                                         bool sorted) {
  std::vector<uint32_t> order(records.size());
  std::iota(order.begin(), order.end(), 0);
  if (sorted) // z and y are above x in the word, so this is the linear order of any grid
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(records[a].program, a) < std::pair(records[b].program, b);
    });

  std::vector<DecodedRecord> decoded;
  decoded.reserve(order.size());
  for (uint32_t number : order) {
    const Record &record = records[number];
    if (record.site >= artifact.sites().size())
      continue;
    const SiteRecord &site = artifact.sites()[record.site];
    if (record.kind != site.kind || (site.operandCount && record.operand >= site.operandCount))
      continue;
    DecodedRecord result;
    result.kind = RecordKind(record.kind);
    result.program = {uint32_t(record.program), uint32_t(record.program >> 32 & 0xffff),
                      uint32_t(record.program >> 48)};
    result.message = std::string(artifact.text(site.message));
    if (site.location != none)
      result.location = artifact.describe(artifact.locations()[site.location]);
    result.operand = record.operand;
    if (site.operandCount) {
      const OperandRecord &operand = artifact.operands()[site.firstOperand + record.operand];
      result.operandName = std::string(artifact.text(operand.name));
      bool isPrint = result.kind == RecordKind::Print;
      result.value = (isPrint ? printElement : formatElement)(
          DType(operand.type), record.value, site.hex != 0, operand.isPointer != 0);
      uint32_t rest = record.index;
      result.index.resize(operand.rank);
      for (uint32_t axis = operand.rank; axis-- > 0;) {
        uint32_t size = std::max(operand.shape[axis], 1u);
        result.index[axis] = rest % size;
        rest /= size;
      }
      if (isPrint)
        result.place = " " + printIndex(result.index, {operand.shape, operand.rank});
      if (isPrint && site.operandCount > 1)
        result.message += "(operand " + std::to_string(record.operand) + ") ";
    }
    decoded.push_back(std::move(result));
  }
  return decoded;
}

} // namespace nereid::support
