#include "engine/AheadOfTimeText.h"

#include "support/LaunchAbi.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <span>

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

namespace {

// What the headers call their own parameters, variables, types and functions; the words of C23 and
// C++20; the object-like macros that compilers and the usual headers define.
// Each between two spaces.
constexpr std::string_view takenWords =
    " arena block code codes context count dlopen dlsym driver fault first free function"
    " gx gy gz int32_t int64_t int8_t int16_t kernel malloc memory places size_t status"
    " stream uint8_t uint16_t uint32_t uint64_t uintptr_t"
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t"
    " char32_t char8_t class co_await co_return co_yield compl concept const const_cast"
    " consteval constexpr constinit continue decltype default delete do double"
    " dynamic_cast else enum explicit export extern false float for friend goto if inline"
    " int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private"
    " protected public register reinterpret_cast requires restrict return short signed"
    " sizeof static static_assert static_cast struct switch template this thread_local"
    " throw true try typedef typeid typename typeof typeof_unqual union unsigned using"
    " virtual void volatile wchar_t while xor xor_eq"
    " I NULL RAND_MAX UINT32_MAX complex errno i386 imaginary linux noreturn stderr stdin"
    " stdout unix ";

bool isIdentifier(std::string_view name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::ranges::all_of(
             name, [](unsigned char c) { return (c < 0x80 && std::isalnum(c)) || c == '_'; });
}

// Whether names that begin like this one are not a parameter's: those of C itself, of the headers'
// shared parts, and of the kernel's code.
bool beginsTaken(std::string_view name, const std::string &prefix) {
  bool isReserved = name.size() > 1 && name[0] == '_' &&
                    (name[1] == '_' || std::isupper(static_cast<unsigned char>(name[1])));
  return isReserved || name.starts_with("nereid_") || name.starts_with("NEREID_") ||
         name.starts_with(prefix + "_ptx_") || name.starts_with(prefix + "_cubin_");
}

// Whether a parameter of that name would hide, or be read as, something else in the header of the
// functions `prefix`_run and so on.
bool isTaken(std::string_view name, const std::string &prefix) {
  static constexpr std::string_view functions[] = {
      "arguments", "launch", "launch_all", "programs", "run", "run_all", "run_range", "supported"};
  if (name == upperCase(prefix) + "_ARENA_BYTES" ||
      (name.starts_with(prefix + "_") &&
       std::ranges::find(functions, name.substr(prefix.size() + 1)) != std::end(functions)))
    return true;
  return takenWords.find(" " + std::string(name) + " ") != std::string_view::npos;
}

} // namespace

std::vector<std::string> parametersInC(const Artifact &artifact, const std::string &prefix) {
  std::span<const SlotRecord> slots = artifact.slots();
  std::vector<std::string> names(slots.size());
  std::set<std::string, std::less<>> used;
  // A descriptor is three parameters.
  auto allOf = [&](size_t slot, const std::string &name) {
    std::vector<std::string> all{name};
    if (SlotKind(slots[slot].kind) == SlotKind::Descriptor)
      all.insert(all.end(), {name + "_shape", name + "_strides"});
    return all;
  };
  auto take = [&](size_t slot, std::string name) {
    for (const std::string &one : allOf(slot, name))
      if (isTaken(one, prefix) || used.contains(one))
        return false;
    for (const std::string &one : allOf(slot, name))
      used.insert(one);
    names[slot] = std::move(name);
    return true;
  };
  // Names that can stay do, wherever another one has to give way.
  for (size_t i = 0; i < slots.size(); ++i)
    if (std::string name(artifact.text(slots[i].name));
        isIdentifier(name) && !beginsTaken(name, prefix))
      take(i, name);
  for (size_t i = 0; i < slots.size(); ++i) {
    std::string_view given = artifact.text(slots[i].name);
    std::string name = isIdentifier(given) ? std::string(given) : nameInC(given);
    if (beginsTaken(name, prefix))
      name = "p_" + name;
    while (names[i].empty() && !take(i, name))
      name += '_';
  }
  return names;
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

SlotText textOf(const Artifact &artifact, const SlotRecord &slot, const std::string &name) {
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

ParameterText parametersOf(const Artifact &artifact, const std::string &prefix,
                           const std::string &unaligned) {
  ParameterText all;
  std::vector<std::string> names = parametersInC(artifact, prefix);
  for (size_t i = 0; i < names.size(); ++i) {
    const SlotRecord &slot = artifact.slots()[i];
    SlotText text = textOf(artifact, slot, names[i]);
    all.fields += text.fields;
    all.parameters += ", " + text.parameters;
    all.assignments += text.assignments;
    all.given += ", " + text.arguments;
    all.places += text.place + ", ";
    if (slot.divisibility > 1 &&
        (SlotKind(slot.kind) == SlotKind::Pointer || SlotKind(slot.kind) == SlotKind::Int))
      all.checks += "  if (" +
                    std::string(SlotKind(slot.kind) == SlotKind::Pointer ? "(uintptr_t)" : "") +
                    names[i] + " % " + std::to_string(slot.divisibility) + ")\n    return " +
                    unaligned + ";\n";
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
