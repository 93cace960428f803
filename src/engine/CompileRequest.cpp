#include "engine/CompileRequest.h"

#include <algorithm>
#include <cstdlib>

namespace nereid::engine {

using support::ArgumentClass;
using support::Specialization;

// Names of files as words of a line: what separates words is written as `%20`.
static std::string escaped(const std::string &text) {
  constexpr const char *digits = "0123456789ABCDEF";
  std::string out;
  for (unsigned char c : text)
    if (c <= ' ' || c == '%' || c == '=')
      out += {'%', digits[c >> 4], digits[c & 15]};
    else
      out += char(c);
  return out;
}

static std::string plain(const std::string &word) {
  std::string out;
  for (size_t i = 0; i < word.size(); ++i)
    if (word[i] == '%' && i + 2 < word.size()) {
      out += char(std::strtol(word.substr(i + 1, 2).c_str(), nullptr, 16));
      i += 2;
    } else {
      out += word[i];
    }
  return out;
}

std::string CompileRequest::line() const {
  const CodeOptions &o = options;
  std::string text = kernel + "\t" + target + "\t" + std::to_string(o.numWarps) + " " +
                     std::to_string(o.numStages) + " " + std::to_string(o.numCtas) + " " +
                     std::to_string(o.maxnreg) + " " + (o.debug ? "1 " : "0 ") +
                     (o.fpFusion ? "1 " : "0 ") + (o.reflectFtz ? "1 " : "0 ") +
                     o.defaultInputPrecision + (o.launchPdl ? " pdl" : "") +
                     (o.launchCooperative ? " cooperative" : "");
  for (const ops::ExternLibrary &library : o.externLibs)
    text += " lib:" + escaped(library.name) + "=" + escaped(library.path);
  text += "\t";
  for (uint32_t index : defaulted)
    text += std::to_string(index) + " ";
  return text + "\t" + specialization.text();
}

std::optional<CompileRequest> CompileRequest::parse(const std::string &line) {
  CompileRequest request;
  size_t at = 0;
  auto field = [&](char until) {
    size_t end = std::min(line.find(until, at), line.size());
    std::string text = line.substr(at, end - at);
    at = std::min(end + 1, line.size());
    return text;
  };
  auto number = [](const std::string &text) -> int {
    return text.empty() || text.size() > 9 ||
                   text.find_first_not_of("0123456789") != std::string::npos
               ? -1
               : std::stoi(text);
  };
  CodeOptions &o = request.options;
  request.kernel = field('\t');
  request.target = field('\t');
  for (int *to : {&o.numWarps, &o.numStages, &o.numCtas, &o.maxnreg})
    if ((*to = number(field(' '))) < 0)
      return std::nullopt;
  for (bool *to : {&o.debug, &o.fpFusion, &o.reflectFtz})
    *to = field(' ') == "1";
  std::string words = field('\t') + " ";
  o.launchPdl = words.find(" pdl ") != std::string::npos;
  o.launchCooperative = words.find(" cooperative ") != std::string::npos;
  o.defaultInputPrecision = words.substr(0, words.find(' '));
  for (size_t from = 0; (from = words.find(" lib:", from)) != std::string::npos;) {
    from += 5;
    std::string word = words.substr(from, words.find(' ', from) - from);
    size_t equals = word.find('=');
    if (equals == std::string::npos)
      return std::nullopt;
    o.externLibs.push_back({plain(word.substr(0, equals)), plain(word.substr(equals + 1))});
  }
  while (at < line.size() && line[at] != '\t') {
    int index = number(field(' '));
    if (index < 0)
      return std::nullopt;
    request.defaulted.push_back(uint32_t(index));
  }
  ++at;
  auto parsed = Specialization::parse(at < line.size() ? line.substr(at) : "");
  if (!parsed)
    return std::nullopt;
  request.specialization = *std::move(parsed);
  return request;
}

static void generalize(ArgumentClass &argument) {
  argument.isOne = false;
  argument.divisibility = 1;
  for (ArgumentClass &element : argument.elements)
    generalize(element);
}

CompileRequest CompileRequest::coarsened() const {
  CompileRequest coarse = *this;
  coarse.specialization = specialization.coarsened();
  return coarse;
}

CompileRequest CompileRequest::generalized() const {
  CompileRequest generic = *this;
  for (ArgumentClass &argument : generic.specialization.arguments)
    generalize(argument);
  return generic;
}

} // namespace nereid::engine
