#include "cli/text/help_format.h"

#include <fmt/format.h>

#include <utility>

#include "cli/text/table.h"

namespace trainyard::cli {

namespace {

constexpr int kColumns = 100;
constexpr int kLeft = 26;

std::string two_columns(const std::string& left, const std::string& right) {
  const int width = display_width(left) + 2;
  // A long left side has a line of its own.
  const std::string gap =
      width + 2 > kLeft ? "\n" + std::string(kLeft, ' ') : std::string(static_cast<std::size_t>(kLeft - width), ' ');
  return "  " + left + gap + wrap(right, kColumns, kLeft) + "\n";
}

// CLI11's names for the types of numbers, and those that the flags give: FILE, FOLDER, NAME.
std::string value_word(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::string word = type.substr(0, type.find(':'));  // what follows names validators
  return word == "INT" || word == "UINT" ? "N" : word == "FLOAT" ? "X" : word;
}

// "--steps N"
std::string left_side(const CLI::Option& option, bool is_positional) {
  const std::string word = value_word(option);
  if (is_positional) {
    return option.get_name(true);
  }
  std::string names = option.get_name(false, true);  // "-h,--help"
  if (const std::size_t comma = names.find(','); comma != std::string::npos) {
    names.insert(comma + 1, " ");
  }
  return option.get_expected_max() == 0 || word.empty() ? names : names + " " + word;
}

std::string right_side(const CLI::Option& option, bool is_positional) {
  if (option.get_required()) {
    return option.get_description() + (is_positional ? "" : " (required)");
  }
  const std::string usual = option.get_default_str();
  const bool none = usual.empty() || usual == "[]";  // an empty list
  return none ? option.get_description() : fmt::format("{} (default {})", option.get_description(), usual);
}

}  // namespace

std::string HelpFormat::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  // CLI11 parts its groups by two empty lines.
  for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n")) {
    text.erase(at, 1);
  }
  return text;
}

std::string HelpFormat::make_usage(const CLI::App* app, std::string name) const {
  std::string line = "\nUsage: " + name;
  const bool has_verbs = !app->get_subcommands([](const CLI::App*) { return true; }).empty();
  line += has_verbs ? " VERB" : "";
  for (const CLI::Option* option : app->get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    line += " " + option->get_name(true);
  }
  return line + " [FLAGS]\n";
}

std::string HelpFormat::make_group(std::string group, bool is_positional,
                                   std::vector<const CLI::Option*> options) const {
  std::string text = "\n" + (group == "Options" ? "Flags" : std::move(group)) + ":\n";
  for (const CLI::Option* option : options) {
    text += make_option(option, is_positional);
  }
  return text;
}

std::string HelpFormat::make_subcommand(const CLI::App* verb) const {
  return two_columns(verb->get_name(), verb->get_description());
}

std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
  return two_columns(left_side(*option, is_positional), right_side(*option, is_positional));
}

}  // namespace trainyard::cli
