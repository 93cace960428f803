#include "engine/Search.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace nereid::engine {

using emit::findKeyword;
using emit::Keywords;
using emit::setKeyword;
using ops::Value;

namespace {

// More values of one axis, or cases or configurations of one search, are taken for a slip.
constexpr size_t mostValues = 10000;

std::optional<int64_t> wholeNumber(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t to; (to = text.find(at, from)) != std::string::npos; from = to + 1)
    parts.push_back(text.substr(from, to - from));
  parts.push_back(text.substr(from));
  return parts;
}

Value plainValue(const std::string &word) {
  if (word == "None")
    return Value();
  if (word == "True" || word == "False")
    return Value(word == "True");
  if (auto number = wholeNumber(word))
    return Value(*number);
  double number = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc() && end == word.data() + word.size())
    return Value(number);
  return Value::str(word);
}

bool isName(const std::string &text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// FIRST:LAST, FIRST:LAST:STEP and FIRST:LAST:*FACTOR.
Status addRange(const std::string &word, std::vector<Value> &values) {
  auto wrong = [&](const std::string &why) {
    return Error{"range `" + word + "` " + why + "; a range is FIRST:LAST, FIRST:LAST:STEP or " +
                     "FIRST:LAST:*FACTOR",
                 {}};
  };
  std::vector<std::string> parts = split(word, ':');
  bool scales = parts.size() == 3 && parts[2].starts_with('*');
  if (parts.size() > 3)
    return wrong("has " + std::to_string(parts.size()) + " parts");
  auto first = wholeNumber(parts[0]), last = wholeNumber(parts[1]);
  auto step = parts.size() == 3 ? wholeNumber(std::string_view(parts[2]).substr(scales))
                                : std::optional<int64_t>(1);
  if (!first || !last || !step)
    return wrong("is not made of whole numbers");
  if (*last < *first)
    return wrong("ends before it starts");
  if (scales ? *step < 2 || *first < 1 : *step < 1)
    return wrong("does not grow");
  for (int64_t at = *first; at <= *last;) {
    values.emplace_back(at);
    if (values.size() > mostValues)
      return wrong("has over " + std::to_string(mostValues) + " values");
    if (scales ? __builtin_mul_overflow(at, *step, &at) : __builtin_add_overflow(at, *step, &at))
      break;
  }
  return Success{};
}

bool has(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool configures(const FolderVariant &variant, const std::string &name) {
  if (takes(variant, name))
    return true;
  return std::any_of(variant.configs.begin(), variant.configs.end(),
                     [&](const Keywords &config) { return findKeyword(config, name); });
}

// Calls `each` with every combination of the values of `axes`, bound in a copy of `base`.
void combine(const Keywords &base, std::span<const SearchAxis *const> axes,
             const std::function<void(const Keywords &)> &each) {
  if (axes.empty())
    return each(base);
  for (const Value &value : axes[0]->values) {
    Keywords bound = base;
    for (const std::string &name : axes[0]->names)
      setKeyword(bound, name, value);
    combine(bound, axes.subspan(1), each);
  }
}

// How many combinations there are; at most one more than `mostValues`.
size_t combinations(std::span<const SearchAxis *const> axes) {
  size_t count = 1;
  for (const SearchAxis *axis : axes)
    count = std::min(count * axis->values.size(), mostValues + 1);
  return count;
}

} // namespace

Result<SearchAxis> parseSearchAxis(const std::string &text) {
  SearchAxis axis{text, split(text, '='), {}};
  std::string list = axis.names.back();
  axis.names.pop_back();
  if (axis.names.empty() || list.empty() || !std::ranges::all_of(axis.names, isName))
    return Error{"`--search " + text + "` is not NAME=VALUES", {}};
  for (const std::string &word : split(list, ',')) {
    if (word.empty())
      return Error{"`--search " + text + "` has an empty value", {}};
    if (word.find(':') == std::string::npos)
      axis.values.push_back(plainValue(word));
    else if (Status status = addRange(word, axis.values); !status)
      return Error{"`--search " + text + "`: " + status.error().what, {}};
  }
  return axis;
}

Result<Search>
Search::make(KernelFolder &folder, const SearchSpace &space, std::string_view set,
             const std::function<bool(const std::string &, const FolderVariant &)> &wanted) {
  Search search(folder, space);
  std::map<std::string, bool> known; // the axes' names, and whether something has them
  for (const SearchAxis &axis : space.axes)
    for (const std::string &name : axis.names)
      if (!known.emplace(name, false).second)
        return Error{"`--search` names `" + name + "` twice", {}};
  std::set<std::string> all;
  for (const std::string &task : folder.tasks()) {
    auto cases = folder.cases(task, set);
    auto names = folder.caseNames(task);
    auto variants = folder.variants(task);
    if (!cases || !names || !variants)
      return !cases ? cases.takeError() : !names ? names.takeError() : variants.takeError();
    std::erase_if(*variants, [&](const FolderVariant &variant) { return !wanted(task, variant); });
    if (variants->empty())
      continue;
    Task &here = search.tasks[task];
    here.cases = std::move(*cases);
    here.names = std::move(*names);
    for (const FolderCase &one : here.cases)
      for (const auto &[name, value] : one.bindings)
        if (!has(here.names, name))
          here.names.push_back(name);
    all.insert(here.names.begin(), here.names.end());
    for (const FolderVariant &variant : *variants)
      for (const Keywords &config : variant.configs)
        for (const auto &[name, value] : config)
          all.insert(name);
    for (auto &[name, isKnown] : known)
      isKnown = isKnown || has(here.names, name) ||
                std::ranges::any_of(*variants, [&](const FolderVariant &variant) {
                  return configures(variant, name);
                });
    for (const SearchAxis &axis : space.axes) {
      auto isOfCase = [&](const std::string &name) { return has(here.names, name); };
      if (std::ranges::any_of(axis.names, isOfCase) && !std::ranges::all_of(axis.names, isOfCase))
        return Error{"`--search " + axis.text + "` ties what a case binds to what a " +
                         "configuration does",
                     {}};
    }
  }
  for (const auto &[name, isKnown] : known) {
    if (isKnown)
      continue;
    std::string there;
    for (const std::string &one : all)
      there += (there.empty() ? "" : ", ") + one;
    return Error{"no case and no configuration of `" + folder.name() + "` has the name `" + name +
                     "`; there are " + there,
                 {}};
  }
  for (const auto &[task, here] : search.tasks) {
    std::vector<const SearchAxis *> ofCase, ofConfig;
    for (const SearchAxis &axis : space.axes)
      (has(here.names, axis.names[0]) ? ofCase : ofConfig).push_back(&axis);
    for (const auto &axes : {ofCase, ofConfig})
      if (combinations(axes) > mostValues)
        return Error{"the search has over " + std::to_string(mostValues) + " combinations of " +
                         (axes == ofCase ? "bindings" : "configurations"),
                     {}};
  }
  return search;
}

std::vector<FolderCase> Search::cases(const std::string &task) const {
  auto found = tasks.find(task);
  if (found == tasks.end())
    return {};
  std::vector<const SearchAxis *> axes;
  for (const SearchAxis &axis : space.axes)
    if (has(found->second.names, axis.names[0]))
      axes.push_back(&axis);
  if (axes.empty())
    return found->second.cases;
  std::vector<FolderCase> out;
  std::set<std::string> seen;
  for (const FolderCase &base : found->second.cases) {
    bool hasLabel = base.label != bindingsText(base.bindings);
    combine(base.bindings, axes, [&](const Keywords &bindings) {
      FolderCase one = KernelFolder::ownCase(task, bindings);
      if (hasLabel)
        one.label = base.label + " " + one.label;
      one.check = base.check;
      if (seen.insert(one.label).second)
        out.push_back(std::move(one));
    });
  }
  return out;
}

std::vector<Keywords> Search::configs(const std::string &task, const FolderVariant &variant) const {
  const std::vector<std::string> &bound = tasks.at(task).names;
  std::vector<const SearchAxis *> axes;
  for (const SearchAxis &axis : space.axes)
    if (!has(bound, axis.names[0]) && std::ranges::all_of(axis.names, [&](const std::string &name) {
          return configures(variant, name);
        }))
      axes.push_back(&axis);
  std::vector<Keywords> out;
  std::set<std::string> seen;
  for (const Keywords &base : variant.configs)
    combine(base, axes, [&](const Keywords &config) {
      if (seen.insert(bindingsText(config)).second)
        out.push_back(config);
    });
  return out;
}

Result<bool> Search::takes(const FolderCase &which, const Keywords &config) const {
  if (space.where.empty())
    return true;
  auto answer = folder.holds(space.where, which, config);
  if (answer)
    return answer;
  std::string place = bindingsText(which.bindings);
  if (!config.empty())
    place += (place.empty() ? "" : " ") + bindingsText(config);
  // The words' own place is no file that people could look into.
  const Error &error = answer.error();
  return Error{"`--where` cannot be told for `" + place +
                   "`: " + (error.diagnostics.empty() ? error.what : error.diagnostics[0].message),
               {}};
}

} // namespace nereid::engine
