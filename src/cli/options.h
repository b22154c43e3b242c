// Options of several commands.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "train/run_config.h"

namespace dashlm {

// The options CONFIG and --set.
struct ConfigOptions {
  std::string path;
  std::vector<std::string> overrides;

  // Loads the config. Only one of several ranks should log warnings.
  RunConfig load(bool log_warnings) const;
};
CLI::Option* add_config_options(CLI::App& command, ConfigOptions& options);

// Add an option whose values are files or folders. A leading ~/ is the home directory, since shells
// do not replace it in --out=~/x. An empty path is an error.
CLI::Option* add_path(CLI::App& command, const std::string& name, std::string& path,
                      const std::string& help);
CLI::Option* add_paths(CLI::App& command, const std::string& name, std::vector<std::string>& paths,
                       const std::string& help);

// Check a value: a whole number of at least `least`; a number above `bound`; a number of at least
// `bound`.
CLI::Validator at_least(int64_t least);
CLI::Validator number_above(double bound);
CLI::Validator number_at_least(double bound);

}  // namespace dashlm
