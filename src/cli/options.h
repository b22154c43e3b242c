// Options that several commands have.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "train/run_config.h"

namespace dashlm {

// CONFIG and --set.
struct ConfigOptions {
  std::string path;
  std::vector<std::string> overrides;

  // Of several ranks one should log the warnings about it.
  RunConfig load(bool log_warnings) const;
};
CLI::Option* add_config_options(CLI::App& command, ConfigOptions& options);

// An option whose values are files or folders: a leading ~/ is the home directory, as shells do not
// replace it in --out=~/x; an empty one is an error.
CLI::Option* add_path(CLI::App& command, const std::string& name, std::string& path,
                      const std::string& help);
CLI::Option* add_paths(CLI::App& command, const std::string& name, std::vector<std::string>& paths,
                       const std::string& help);

// A whole number not below this; and any number above it, or also itself.
CLI::Validator at_least(int64_t least);
CLI::Validator number_above(double bound);
CLI::Validator number_at_least(double bound);

}  // namespace dashlm
