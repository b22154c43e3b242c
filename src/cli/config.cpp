// `dashlm config`: every key of a config, from the same description that parses it.
#include "config/config.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "train/run_config.h"

namespace dashlm {

void add_config_command(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  auto overrides = std::make_shared<std::vector<std::string>>();
  auto markdown = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "config", "print every config key with type, default and meaning, or a config resolved");
  command->add_option("CONFIG", *path, "print this config as it would be run");
  command->add_option("--set", *overrides, "override a value: section.key=value")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--markdown", *markdown, "as a Markdown table");
  command->callback([=] {
    if (!path->empty()) {
      std::cout << run_config_text(load_run_config(*path, *overrides));
      return;
    }
    RunConfig config;
    std::cout << config_table([&](Schema& s) { config.describe(s); },
                              *markdown ? TableStyle::markdown : TableStyle::text);
  });
}

}  // namespace dashlm
