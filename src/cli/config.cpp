// `dashlm config`: every key of a config, from the same description that parses it.
#include "config/config.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/options.h"
#include "optim/shampoo/config.h"

namespace dashlm {
namespace {

// Prints sections whose keys depend on their "type", for the types that are not the default.
void print_alternatives(TableStyle style) {
  const auto print = [&](const std::string& title, auto value) {
    std::cout << fmt::format("\n{}With {}:\n", style == TableStyle::markdown ? "### " : "", title)
              << (style == TableStyle::markdown ? "\n" : "")
              << config_table([&](Schema& s) { value.describe(s); }, style);
  };
  for (const std::string& type : optimizer_types()) {
    if (type == OptimizerConfig().type()) continue;
    print(fmt::format("\"optimizer\": {{\"type\": \"{}\"}}", type), OptimizerConfig(type));
  }
  const auto print_root = [&](const char* name, const InverseRootConfig::Method& method) {
    InverseRootConfig root;
    root.method = method;
    print(fmt::format("\"inverse_root\": {{\"type\": \"{}\"}}", name), root);
  };
  print_root("coupled_newton", CoupledNewtonConfig{});
  print_root("chebyshev", ChebyshevConfig{});
}

}  // namespace

void add_config_command(CLI::App& app) {
  auto options = std::make_shared<ConfigOptions>();
  auto markdown = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "config", "print every config key with type, default and meaning, or a config resolved");
  CLI::Option* path = add_config_options(*command, *options);
  path->description("print this config as it would be run");
  command->get_option("--set")->needs(path);
  command->add_flag("--markdown", *markdown, "as a Markdown table");
  command->callback([=] {
    if (!options->path.empty()) {
      std::cout << run_config_text(options->load(/*log_warnings=*/true));
      return;
    }
    const TableStyle style = *markdown ? TableStyle::markdown : TableStyle::text;
    RunConfig config;
    std::cout << config_table([&](Schema& s) { config.describe(s); }, style);
    print_alternatives(style);
  });
}

}  // namespace dashlm
