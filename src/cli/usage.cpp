#include "cli/usage.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/version.h"
#include "cli/commit.h"
#include "config/config.h"
#include "config/paths.h"
#include "dist/launch.h"
#include "ops/core/cpu_kernels.h"

namespace dashlm {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// "dashlm bench"
std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent ? full_name(*parent) + " " + app.get_name() : "dashlm";
}

[[noreturn]] void fail_usage(const CLI::App& app, const std::string& problem,
                             const std::string& near) {
  fail_input("{}{}; `{} --help` says more", problem,
             near.empty() ? "" : fmt::format("; did you mean {}?", near), full_name(app));
}

CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return const_cast<CLI::App*>(command);
  }
  const std::vector<std::string> names = command_names(app);
  fail_usage(app,
             fmt::format("there is no command `{} {}`; there are {}", full_name(app), name,
                         fmt::join(names, ", ")),
             nearest_word(name, names));
}

// The innermost command on the command line.
const CLI::App& chosen_command(const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  return commands.empty() ? app : chosen_command(*commands.back());
}

// The word that CLI11 could not place: an unknown option, or an argument too many.
[[noreturn]] void fail_extra(const CLI::App& app) {
  const CLI::App& command = chosen_command(app);
  const std::string extra = app.remaining(/*recurse=*/true).at(0);
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  const bool option = extra.starts_with("-");
  fail_usage(command,
             fmt::format("`{}` {} '{}'", full_name(command),
                         option ? "has no option" : "does not know what to do with", extra),
             option ? nearest_word(extra, options) : "");
}

void check_commands(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* place = &app;
  for (const std::string& word : words) {
    if (place->get_subcommands({}).empty() || word.starts_with("-")) return;
    place = find_command(*place, word);
  }
}

}  // namespace

void add_help_command(CLI::App& app) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* help = app.add_subcommand("help", "say what a command does and takes");
  help->add_option("COMMAND", *words, "such as `train` or `bench step`");
  help->callback([words, &app] {
    CLI::App* command = &app;
    for (const std::string& word : *words) command = find_command(*command, word);
    std::cout << command->get_formatter()->make_help(command, full_name(*command),
                                                     CLI::AppFormatMode::Normal);
  });
}

std::string version_text() {
  return fmt::format(
      "dashlm {} (commit {})\n"
      "compiler   {}\n"
      "backends   {}\n"
      "ranks      {}\n"
      "libraries  {}; fmt {}.{}.{}, spdlog {}.{}.{}, nlohmann/json {}.{}.{}, CLI11 {}, {}\n",
      version(), DASHLM_COMMIT, DASHLM_COMPILER, DASHLM_BACKENDS, rank_library(),
      cpu_kernels().openblas, FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100,
      SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH, NLOHMANN_JSON_VERSION_MAJOR,
      NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH, CLI11_VERSION, DASHLM_LIBRARIES);
}

void parse_command_line(CLI::App& app, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) require_utf8(argv[i], fmt::format("argument {}", i));
  check_commands(app, std::vector<std::string>(argv + 1, argv + argc));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    if (launched_rank() == 0) app.exit(e);
  } catch (const CLI::ExtrasError&) {
    fail_extra(app);
  } catch (const CLI::ParseError& e) {
    fail_usage(chosen_command(app), e.what(), "");
  }
}

void require_output_written() {
  errno = 0;
  std::cout.flush();
  if (std::cout) return;
  fail_runtime("cannot write to the standard output{}",
               errno ? fmt::format(": {}", std::strerror(errno)) : "");
}

}  // namespace dashlm
