// Mutates source as tokens and lines, so that most mutants still parse and reach what lies behind
// the parser. A target includes this header once; bytes are mutated as well.
#pragma once

#include <cctype>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace fuzz {

// Names and numbers, runs of blanks, and single characters.
inline std::vector<std::string_view> tokens(std::string_view text) {
  std::vector<std::string_view> all;
  auto isWord = [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; };
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (isWord(text[at]))
      while (end < text.size() && isWord(text[end]))
        ++end;
    else if (text[at] == ' ')
      while (end < text.size() && text[end] == ' ')
        ++end;
    all.push_back(text.substr(at, end - at));
    at = end;
  }
  return all;
}

inline std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> all;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    all.push_back(text.substr(at, end - at));
    at = end;
  }
  return all;
}

inline char classOf(std::string_view token) {
  uint8_t c = uint8_t(token[0]);
  return std::isdigit(c)               ? '0'
         : std::isalpha(c) || c == '_' ? 'a'
         : c == ' ' || c == '\n'       ? ' '
                                       : '+';
}

inline std::string mutated(std::string_view text, std::minstd_rand &random) {
  static constexpr std::string_view words[] = {"0",
                                               "1",
                                               "-1",
                                               "2",
                                               "16",
                                               "0.0",
                                               "1e400",
                                               "2147483648",
                                               "18446744073709551616",
                                               "None",
                                               "True",
                                               "()",
                                               "(1,)",
                                               "[0]",
                                               "''",
                                               "x[None]",
                                               "tl.arange(0, 16)",
                                               "tl.zeros((16, 16), tl.float32)",
                                               "tl.constexpr",
                                               "tl.program_id(0)",
                                               "range(4)",
                                               "tl.static_range(3)",
                                               "lambda a: a",
                                               "1 if x else 2",
                                               "tl.float16"};
  auto pieces = random() % 2 ? tokens(text) : lines(text);
  if (pieces.empty())
    return std::string(text);
  size_t at = random() % pieces.size(), other = random() % pieces.size();
  switch (random() % 6) {
  case 0:
    std::swap(pieces[at], pieces[other]);
    break;
  case 1:
    pieces.erase(pieces.begin() + long(at));
    break;
  case 2:
    pieces.insert(pieces.begin() + long(at), pieces[other]);
    break;
  case 3:
    pieces[at] = words[random() % std::size(words)];
    break;
  default:
    // One of the same class keeps the text a program.
    for (size_t i = 0; i < pieces.size(); ++i)
      if (size_t next = (other + i) % pieces.size();
          classOf(pieces[next]) == classOf(pieces[at]) && pieces[next] != pieces[at]) {
        pieces[at] = pieces[next];
        break;
      }
  }
  std::string result;
  for (std::string_view piece : pieces)
    result += piece;
  return result;
}

} // namespace fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 4 == 0)
    return LLVMFuzzerMutate(data, size, most);
  std::string text(reinterpret_cast<const char *>(data), size);
  for (unsigned times = 1 + random() % 3; times > 0; --times)
    text = fuzz::mutated(text, random);
  size = std::min(text.size(), most);
  std::memcpy(data, text.data(), size);
  return size;
}
