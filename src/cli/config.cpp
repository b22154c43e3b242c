// `dashlm config`: every key of a config, from the same description that parses it.
#include "config/config.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "train/run_config.h"

namespace dashlm {
namespace {

// Sections whose keys depend on their "type": those of the types that are not the default.
void print_alternatives(TableStyle style) {
  const auto print = [&](const std::string& title, auto value) {
    std::cout << fmt::format("\n{}With {}:\n", style == TableStyle::markdown ? "### " : "", title)
              << (style == TableStyle::markdown ? "\n" : "")
              << config_table([&](Schema& s) { value.describe(s); }, style);
  };
  for (const auto& [type, name] : EnumNames<OptimizerType>::names) {
    if (type == OptimizerType::adamw) continue;
    print(fmt::format("\"optimizer\": {{\"type\": \"{}\"}}", name), OptimizerConfig(type));
  }
  const auto print_root = [&](const char* name, InverseRootConfig::Method method) {
    InverseRootConfig root;
    root.method = std::move(method);
    print(fmt::format("\"inverse_root\": {{\"type\": \"{}\"}}", name), root);
  };
  print_root("coupled_newton", CoupledNewtonConfig{});
  print_root("chebyshev", ChebyshevConfig{});
}

}  // namespace

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
    const TableStyle style = *markdown ? TableStyle::markdown : TableStyle::text;
    RunConfig config;
    std::cout << config_table([&](Schema& s) { config.describe(s); }, style);
    print_alternatives(style);
  });
}

}  // namespace dashlm
