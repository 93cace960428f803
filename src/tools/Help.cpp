#include "tools/Help.h"

namespace nereid::tools {

std::string HelpFormatter::make_help(const CLI::App *app, std::string name,
                                     CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  // One empty line between groups.
  for (size_t at; (at = text.find("\n\n\n")) != std::string::npos;)
    text.erase(at, 1);
  return text;
}

// The options of a group of which one is wanted stand under their own headings.
std::string HelpFormatter::make_expanded(const CLI::App *app) const {
  if (!app->get_name().empty())
    return CLI::Formatter::make_expanded(app);
  return make_positionals(app) + make_groups(app, CLI::AppFormatMode::Sub);
}

// `--num_warps` is taken beside `--num-warps`, not shown.
std::string HelpFormatter::make_option_name(const CLI::Option *option, bool isPositional) const {
  if (isPositional)
    return option->get_name(true, false);
  std::string names;
  auto add = [&](const std::string &dashes, const std::string &name) {
    if (name.find('_') == std::string::npos)
      names += (names.empty() ? "" : ",") + dashes + name;
  };
  for (const std::string &name : option->get_snames())
    add("-", name);
  for (const std::string &name : option->get_lnames())
    add("--", name);
  return names;
}

std::string HelpFormatter::make_option_opts(const CLI::Option *option) const {
  if (option->get_type_size() == 0)
    return "";
  // "INT:{1,2,4}" or "FLOAT:FLOAT in [0.001 - 600]": a set is shown, a range only when it is left.
  std::string type = option->get_type_name();
  if (size_t colon = type.find(':'); colon != std::string::npos)
    type = type[colon + 1] == '{' ? type.substr(colon + 1) : type.substr(0, colon);
  if (type == "INT" || type == "UINT" || type == "FLOAT")
    type = "N";
  std::string many =
      option->get_expected_max() == CLI::detail::expected_max_vector_size ? "..." : "";
  return option->get_positional() ? many : " " + type + many;
}

} // namespace nereid::tools
