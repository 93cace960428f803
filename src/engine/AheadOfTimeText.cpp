#include "engine/AheadOfTimeText.h"

#include "support/LaunchAbi.h"

#include <algorithm>
#include <cctype>

namespace nereid::engine {

using support::Artifact;
using support::SlotKind;
using support::SlotRecord;

std::string nameInC(std::string_view name) {
  std::string text;
  for (char c : name)
    text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  while (!text.empty() && text.back() == '_')
    text.pop_back();
  return text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) ? "_" + text : text;
}

std::string parameterInC(std::string_view name) {
  // What the headers call their own parameters and variables; what C and C++ keep for themselves.
  static constexpr std::string_view taken[] = {
      "arena",     "block",   "code",     "codes",    "context",   "count",  "driver",   "fault",
      "first",     "free",    "function", "malloc",   "gx",        "gy",     "gz",       "kernel",
      "memory",    "places",  "status",   "stream", //
      "auto",      "bool",    "break",    "case",     "catch",     "char",   "class",    "const",
      "continue",  "default", "delete",   "do",       "double",    "else",   "enum",     "explicit",
      "export",    "extern",  "false",    "float",    "for",       "friend", "goto",     "if",
      "inline",    "int",     "long",     "mutable",  "namespace", "new",    "operator", "private",
      "protected", "public",  "register", "requires", "restrict",  "return", "short",    "signed",
      "sizeof",    "static",  "struct",   "switch",   "template",  "this",   "throw",    "true",
      "try",       "typedef", "typename", "union",    "unsigned",  "using",  "virtual",  "void",
      "volatile",  "while"};
  std::string text = nameInC(name);
  return std::ranges::find(taken, text) != std::end(taken) ? text + "_" : text;
}

namespace {

// What C calls an element; narrow floats are passed as their bits.
std::string_view typeInC(DType type) {
  switch (type) {
  case DType::Int8:
    return "int8_t";
  case DType::Int16:
    return "int16_t";
  case DType::Int32:
    return "int32_t";
  case DType::Int64:
    return "int64_t";
  case DType::UInt16:
  case DType::Float16:
  case DType::BFloat16:
    return "uint16_t";
  case DType::UInt32:
    return "uint32_t";
  case DType::UInt64:
    return "uint64_t";
  case DType::Float32:
    return "float";
  case DType::Float64:
    return "double";
  default: // Int1, UInt8 and all of 8 bits
    return "uint8_t";
  }
}

/// The C parameters of a slot and the statements that put them into the block.
struct SlotText {
  std::string fields, parameters, assignments, arguments, place;
};

SlotText textOf(const Artifact &artifact, const SlotRecord &slot) {
  std::string name = parameterInC(artifact.text(slot.name));
  std::string type(typeInC(DType(slot.type)));
  auto one = [&](const std::string &parameterType, const std::string &member) {
    SlotText text;
    text.fields = "  " + parameterType + member + ";\n";
    text.parameters = parameterType + member;
    text.assignments = "  block." + member + " = " + member + ";\n";
    text.arguments = member;
    text.place = "&block." + member;
    return text;
  };
  std::string pointer =
      (slot.access & (support::AccessWrite | support::AccessAtomic) ? "" : "const ") + type + " *";
  if (SlotKind(slot.kind) == SlotKind::Pointer)
    return one(pointer, name);
  if (SlotKind(slot.kind) != SlotKind::Descriptor)
    return one(type + " ", name);
  uint32_t rank = artifact.descriptors()[slot.descriptor].rank;
  std::string count = std::to_string(rank);
  SlotText text;
  text.fields = "  " + pointer + name + ";\n  int64_t " + name + "_shape[" + count + "], " + name +
                "_strides[" + count + "];\n";
  text.parameters =
      pointer + name + ", const int64_t *" + name + "_shape, const int64_t *" + name + "_strides";
  text.arguments = name + ", " + name + "_shape, " + name + "_strides";
  text.place = "&block." + name;
  text.assignments = "  block." + name + " = " + name + ";\n";
  for (uint32_t i = 0; i < rank; ++i)
    for (const char *part : {"_shape", "_strides"}) {
      std::string element = name + part + "[" + std::to_string(i) + "]";
      text.assignments += "  block." + element + " = " + element + ";\n";
    }
  return text;
}

} // namespace

ParameterText parametersOf(const Artifact &artifact, const std::string &unaligned) {
  ParameterText all;
  for (const SlotRecord &slot : artifact.slots()) {
    SlotText text = textOf(artifact, slot);
    all.fields += text.fields;
    all.parameters += ", " + text.parameters;
    all.assignments += text.assignments;
    all.given += ", " + text.arguments;
    all.places += text.place + ", ";
    if (slot.divisibility > 1 &&
        (SlotKind(slot.kind) == SlotKind::Pointer || SlotKind(slot.kind) == SlotKind::Int))
      all.checks += "  if (" +
                    std::string(SlotKind(slot.kind) == SlotKind::Pointer ? "(uintptr_t)" : "") +
                    parameterInC(artifact.text(slot.name)) + " % " +
                    std::to_string(slot.divisibility) + ")\n    return " + unaligned + ";\n";
  }
  return all;
}

std::string signatureOf(const Artifact &artifact) {
  return inComment("(" + std::string(artifact.text(artifact.kernel().signature)) + ")");
}

std::string constantsOf(const Artifact &artifact) {
  std::string constants;
  for (const support::ParameterRecord &parameter : artifact.parameters())
    if (support::ParameterKind(parameter.kind) != support::ParameterKind::Slots)
      constants += (constants.empty() ? "" : ", ") + std::string(artifact.text(parameter.name)) +
                   "=" + std::string(artifact.text(parameter.value));
  return constants.empty() ? "nothing" : inComment(constants);
}

std::string upperCase(std::string text) {
  for (char &c : text)
    c = char(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

Status checkPrefix(const std::string &name) {
  if (name.empty() || nameInC(name) != name)
    return Error{"`" + name + "` cannot begin the names of C functions", {}};
  return Success{};
}

std::string replaced(std::string_view text,
                     const std::vector<std::pair<std::string_view, std::string>> &values) {
  std::string out;
  while (!text.empty()) {
    const std::pair<std::string_view, std::string> *hit = nullptr;
    if (text[0] == '$')
      for (const auto &value : values)
        if (text.substr(1).starts_with(value.first))
          hit = &value;
    if (hit) {
      out += hit->second;
      text.remove_prefix(1 + hit->first.size());
    } else {
      out += text[0];
      text.remove_prefix(1);
    }
  }
  return out;
}

std::string inComment(std::string text) {
  for (size_t at; (at = text.find("*/")) != std::string::npos;)
    text.insert(at + 1, " ");
  for (char &c : text)
    if (c == '\n')
      c = ' ';
  return text;
}

} // namespace nereid::engine
