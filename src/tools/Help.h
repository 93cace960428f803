// How `--help` looks.
#pragma once

#include <CLI/CLI.hpp>

namespace nereid::tools {

/// One spelling of each option, its values as a set or in a word, no lists of what excludes what.
/// Inherited by subcommands that are added behind it.
class HelpFormatter : public CLI::Formatter {
  std::string make_help(const CLI::App *app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_expanded(const CLI::App *app) const override;
  std::string make_option_name(const CLI::Option *option, bool isPositional) const override;
  std::string make_option_opts(const CLI::Option *option) const override;
};

} // namespace nereid::tools
