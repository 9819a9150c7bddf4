// HelpFormat: how `--help` looks. Flags on the left with the word that stands for their value, what they do on the
// right in lines of at most 100 columns, then the default or "required".
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace trainyard::cli {

class HelpFormat : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> options) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
};

}  // namespace trainyard::cli
