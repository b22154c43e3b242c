#include "cli/options.h"

#include "base/error.h"
#include "base/log.h"
#include "config/paths.h"

namespace dashlm {
namespace {

CLI::Option* as_path(CLI::Option* option) {
  const std::string name = option->get_name();
  const auto check = [name](const std::string& path) {
    require(!path.empty(), "{} is empty: name a file or a folder", name);
    return expand_home(path, name);
  };
  return option->transform(check, "", "")->type_name("PATH");
}

// CLI11's own validators print the largest double in full.
template <class T, class Test>
CLI::Validator bounded(Test test, const std::string& wanted, const std::string& shown) {
  const auto check = [=](const std::string& text) -> std::string {
    T value{};
    const bool ok = CLI::detail::lexical_cast(text, value) && test(value);
    return ok ? "" : fmt::format("{} is not {}", text, wanted);
  };
  return CLI::Validator(check, shown);
}

}  // namespace

RunConfig ConfigOptions::load(bool log_warnings) const {
  RunConfig config = load_run_config(path, overrides);
  for (const std::string& warning : config.warnings()) {
    if (log_warnings) spdlog::warn("{}", warning);
  }
  return config;
}

CLI::Option* add_config_options(CLI::App& command, ConfigOptions& options) {
  command
      .add_option("--set", options.overrides,
                  "override a value: section.key=value; an object is merged into its section")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  return add_path(command, "CONFIG", options.path, "JSON file; see `dashlm config`")
      ->type_name("FILE");
}

std::unique_ptr<Device> DeviceOptions::open(const LocalPlace& place) const {
  return open_device(device, threads, place);
}

void add_device_options(CLI::App& command, DeviceOptions& options) {
  command.add_option("--device", options.device, "auto, cpu or cuda");
  command.add_option("--threads", options.threads, "CPU threads; 0: all")->check(at_least(0));
}

std::unique_ptr<Device> open_device(const RunConfig& config, const LocalPlace& place) {
  return open_device(config.device, static_cast<int>(config.threads), place);
}

void add_json_option(CLI::App& command, bool& json, const std::string& help) {
  command.add_flag("--json", json, help);
}

CLI::Option* add_path(CLI::App& command, const std::string& name, std::string& path,
                      const std::string& help) {
  return as_path(command.add_option(name, path, help));
}

CLI::Option* add_paths(CLI::App& command, const std::string& name, std::vector<std::string>& paths,
                       const std::string& help) {
  return as_path(command.add_option(name, paths, help));
}

CLI::Validator at_least(int64_t least) {
  return bounded<int64_t>([least](int64_t value) { return value >= least; },
                          fmt::format("a whole number of at least {}", least),
                          fmt::format(">= {}", least));
}

CLI::Validator number_above(double bound) {
  return bounded<double>([bound](double value) { return value > bound; },
                         fmt::format("a number above {}", bound), fmt::format("> {}", bound));
}

CLI::Validator number_at_least(double bound) {
  return bounded<double>([bound](double value) { return value >= bound; },
                         fmt::format("a number of at least {}", bound),
                         fmt::format(">= {}", bound));
}

}  // namespace dashlm
