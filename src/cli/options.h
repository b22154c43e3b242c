// Options of several commands.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
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

// --device and --threads, of commands that read no config: a config has keys for both.
struct DeviceOptions {
  std::string device = "auto";
  int threads = 0;

  std::unique_ptr<Device> open(const LocalPlace& place = {}) const;
};
void add_device_options(CLI::App& command, DeviceOptions& options);
// The device that a config asks for.
std::unique_ptr<Device> open_device(const RunConfig& config, const LocalPlace& place = {});

// --json: a report for programs. `help` says what its form is, where there is more to say.
void add_json_option(CLI::App& command, bool& json, const std::string& help = "as JSON");

// An option whose values are files or folders: a leading ~/ is the home directory, as shells do not
// replace it in --out=~/x; an empty one is an error.
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
