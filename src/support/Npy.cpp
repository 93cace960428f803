#include "support/Npy.h"

#include <cctype>
#include <cstring>
#include <string_view>

namespace nereid::support {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

// header = "{" { string ":" value "," } "}"; value = string | "True" | "False" | "(" { int "," }
// ")"
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  bool parse(std::string &descr, bool &fortran, std::vector<int64_t> &shape) {
    bool seenDescr = false, seenOrder = false, seenShape = false;
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!parseString(key) || !take(':'))
        return false;
      if (key == "descr" && !seenDescr)
        seenDescr = parseString(descr);
      else if (key == "fortran_order" && !seenOrder)
        seenOrder = parseBool(fortran);
      else if (key == "shape" && !seenShape)
        seenShape = parseShape(shape);
      else
        return false;
      if (!take(',') && peek() != '}')
        return false;
    }
    return seenDescr && seenOrder && seenShape;
  }

private:
  void skipSpace() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  char peek() {
    skipSpace();
    return at < text.size() ? text[at] : '\0';
  }
  bool take(char c) {
    if (peek() != c)
      return false;
    ++at;
    return true;
  }
  bool takeWord(std::string_view word) {
    skipSpace();
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }
  bool parseString(std::string &out) {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return false;
    size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos)
      return false;
    out = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  bool parseBool(bool &out) {
    out = takeWord("True");
    return out || takeWord("False");
  }
  bool parseShape(std::vector<int64_t> &out) {
    if (!take('('))
      return false;
    while (!take(')')) {
      if (!std::isdigit(static_cast<unsigned char>(peek())))
        return false;
      int64_t extent = 0;
      for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at) {
        if (extent > (INT64_MAX - 9) / 10)
          return false;
        extent = extent * 10 + (text[at] - '0');
      }
      if (at < text.size() && text[at] == 'L') // Python 2 wrote long integers so
        ++at;
      out.push_back(extent);
      if (!take(',') && peek() != ')')
        return false;
    }
    return true;
  }

  std::string_view text;
  size_t at = 0;
};

struct DescrSpelling {
  std::string_view descr;
  DType dtype;
};
// Little-endian only; a file from a big-endian machine is refused.
constexpr DescrSpelling spellings[] = {
    {"|b1", DType::Int1},     {"|i1", DType::Int8},     {"<i2", DType::Int16},
    {"<i4", DType::Int32},    {"<i8", DType::Int64},    {"|u1", DType::UInt8},
    {"<u2", DType::UInt16},   {"<u4", DType::UInt32},   {"<u8", DType::UInt64},
    {"<f2", DType::Float16},  {"<f4", DType::Float32},  {"<f8", DType::Float64},
    {"<V2", DType::BFloat16}, {"|V2", DType::BFloat16}, {"|V1", DType::Float8E4NV},
};

} // namespace

Result<NpyHeader> readNpyHeader(std::span<const uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (text.size() < 10 || text.substr(0, magic.size()) != magic)
    return Error{"not a .npy file: it does not start with the bytes of one", {}};
  unsigned major = bytes[6];
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (major < 1 || major > 3 || text.size() < 8 + lengthBytes)
    return Error{"unknown .npy version " + std::to_string(major), {}};
  size_t length = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= size_t(bytes[8 + i]) << (8 * i);
  if (length > text.size() - 8 - lengthBytes)
    return Error{"the .npy file ends inside its header", {}};

  NpyHeader header;
  header.dataOffset = 8 + lengthBytes + length;
  std::string descr;
  if (!HeaderParser(text.substr(8 + lengthBytes, length))
           .parse(descr, header.fortranOrder, header.shape))
    return Error{"the header of the .npy file cannot be read", {}};

  const DescrSpelling *found = nullptr;
  for (const DescrSpelling &spelling : spellings)
    if (descr == spelling.descr ||
        (descr.size() == 3 && descr[0] == '=' && descr.substr(1) == spelling.descr.substr(1)))
      found = &spelling;
  if (!found)
    return Error{"element type '" + descr + "' of the .npy file is not supported", {}};
  header.dtype = found->dtype;
  header.isBFloat16Bits = found->dtype == DType::BFloat16;

  uint64_t count = 1, have = (text.size() - header.dataOffset) / info(header.dtype).bytes;
  for (int64_t extent : header.shape) {
    if (extent != 0 && count > UINT64_MAX / uint64_t(extent))
      return Error{"the shape in the .npy file is too large", {}};
    count *= uint64_t(extent);
  }
  if (count > have)
    return Error{"the .npy file holds " + std::to_string(have) + " of its " +
                     std::to_string(count) + " elements",
                 {}};
  return header;
}

std::vector<uint8_t> writeNpy(DType dtype, std::span<const int64_t> shape,
                              std::span<const uint8_t> data) {
  std::string descr = "|V1";
  for (const DescrSpelling &spelling : spellings)
    if (spelling.dtype == dtype) {
      descr = spelling.descr;
      break;
    }
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (size_t d = 0; d < shape.size(); ++d)
    header += std::to_string(shape[d]) + (shape.size() == 1      ? ","
                                          : d + 1 < shape.size() ? ", "
                                                                 : "");
  header += "), }";
  // Data starts at a multiple of 64; the header ends in a newline.
  size_t unpadded = magic.size() + 4 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';

  std::vector<uint8_t> out(magic.begin(), magic.end());
  out.insert(out.end(), {1, 0, uint8_t(header.size()), uint8_t(header.size() >> 8)});
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

} // namespace nereid::support
