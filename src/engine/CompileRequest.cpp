#include "engine/CompileRequest.h"

#include <algorithm>

namespace nereid::engine {

using support::ArgumentClass;
using support::Specialization;

std::string CompileRequest::line() const {
  const CodeOptions &o = options;
  std::string text = kernel + "\t" + target + "\t" + std::to_string(o.numWarps) + " " +
                     std::to_string(o.numStages) + " " + std::to_string(o.numCtas) + " " +
                     std::to_string(o.maxnreg) + " " + (o.debug ? "1 " : "0 ") +
                     (o.fpFusion ? "1 " : "0 ") + (o.reflectFtz ? "1 " : "0 ") +
                     o.defaultInputPrecision + (o.launchPdl ? " pdl" : "") +
                     (o.launchCooperative ? " cooperative" : "") + "\t";
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
