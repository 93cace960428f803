// Arguments of a function of the engine's own, taken one by one by name as Python binds them.
#pragma once

#include "emit/Interp.h"

#include <algorithm>

namespace nereid::engine {

class NativeArguments {
public:
  NativeArguments(emit::Interp &interp, std::string_view function, std::vector<ops::Value> &args,
                  emit::Keywords &keywords)
      : interp(interp), function(function), args(args), keywords(keywords) {}

  /// The next parameter, positional or by keyword.
  ops::Value required(std::string_view name, std::string_view example = {}) {
    if (auto value = take(name))
      return *value;
    interp.raise("TypeError",
                 "`" + std::string(function) + "` needs `" + std::string(name) + "`" +
                     (example.empty() ? "" : ", as in `" + std::string(example) + "`"));
  }
  ops::Value optional(std::string_view name, ops::Value otherwise) {
    auto value = take(name);
    return value ? *value : otherwise;
  }
  /// A parameter that is given by keyword only.
  ops::Value keyword(std::string_view name, ops::Value otherwise) {
    for (size_t i = 0; i < keywords.size(); ++i)
      if (keywords[i].first == name) {
        ops::Value value = keywords[i].second;
        keywords.erase(keywords.begin() + static_cast<ptrdiff_t>(i));
        return value;
      }
    return otherwise;
  }
  /// All positional arguments that are left.
  std::vector<ops::Value> rest() {
    std::vector<ops::Value> left(args.begin() + static_cast<ptrdiff_t>(next), args.end());
    next = args.size();
    return left;
  }
  /// All keywords that are left.
  emit::Keywords restKeywords() { return std::exchange(keywords, {}); }
  /// Fails if something was given that no parameter took.
  void finish() {
    if (next < args.size())
      interp.raise("TypeError", "`" + std::string(function) + "` takes " + std::to_string(next) +
                                    " positional arguments, " + std::to_string(args.size()) +
                                    " were given");
    if (!keywords.empty())
      interp.raise("TypeError",
                   "`" + std::string(function) + "` has no parameter `" + keywords[0].first + "`");
  }

private:
  std::optional<ops::Value> take(std::string_view name) {
    if (next < args.size())
      return args[next++];
    for (size_t i = 0; i < keywords.size(); ++i)
      if (keywords[i].first == name) {
        ops::Value value = keywords[i].second;
        keywords.erase(keywords.begin() + static_cast<ptrdiff_t>(i));
        return value;
      }
    return std::nullopt;
  }

  emit::Interp &interp;
  std::string_view function;
  std::vector<ops::Value> &args;
  emit::Keywords &keywords;
  size_t next = 0;
};

} // namespace nereid::engine
