// `dashlm plan`: the memory and work of a run, before it runs.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/plan_ranks.h"
#include "config/config.h"
#include "model/parameters.h"
#include "train/step_plan.h"

namespace dashlm {
namespace {

struct Options {
  ConfigOptions config;
  int ranks = 1;
  std::string gpu;
  double network = 0;  // GB/s
  bool parameters = false;
  bool json = false;
};

// Lists parameters by the names that patterns of optimizer.groups match.
Json parameters_json(const RunConfig& config, const ParameterLayout& layout) {
  const std::vector<double> scales = lr_multipliers(config.optimizer, layout);
  Json list = Json::array();
  for (size_t i = 0; i < scales.size(); ++i) {
    const Parameter& parameter = layout.parameters()[i];
    Json dims = Json::array();
    for (int k = 0; k < parameter.shape.rank(); ++k) dims.push_back(parameter.shape[k]);
    list.push_back({{"name", parameter.name},
                    {"shape", dims},
                    {"elements", parameter.elements()},
                    {"lr_scale", scales[i]}});
  }
  return list;
}

void print_parameters(const Json& list) {
  std::cout << fmt::format("{:<24}{:>24}{:>24}{:>12}\n", "parameter", "shape", "elements",
                           "lr_scale");
  for (const Json& line : list) {
    std::cout << fmt::format("{:<24}{:>24}{:>24}{:>12}\n", line["name"].get<std::string>(),
                             line["shape"].dump(), with_separators(line["elements"]),
                             line["lr_scale"].get<double>());
  }
  std::cout << "\n";
}

Json plan_json(const RunConfig& config, const StepPlan& plan) {
  const int64_t step_tokens = config.train.batch * config.model.seq_len;
  Json json;
  json["parameters"] = plan.parameters;
  json["bytes"] = memory_json(plan.memory);
  json["steps"] = config.train.steps;
  json["micro_batches"] =
      (config.train.batch + config.train.micro_batch - 1) / config.train.micro_batch;
  json["tokens_per_step"] = step_tokens;
  json["tokens"] = step_tokens * config.train.steps;
  json["tokens_per_parameter"] =
      static_cast<double>(step_tokens * config.train.steps) / static_cast<double>(plan.parameters);
  for (const StackPlan& line : plan.stacks) {
    json["stacks"].push_back({{"group", line.group},
                              {"count", line.count},
                              {"calls", line.calls},
                              {"state_bytes", line.state_bytes},
                              {"products_per_update", line.products}});
  }
  json["flops_per_step"] = plan.flops;
  json["flops_per_token"] = plan.flops / static_cast<double>(step_tokens);
  return json;
}

void print_table(const Json& json) {
  if (json.contains("parameter_list")) print_parameters(json["parameter_list"]);
  const auto row = [](const std::string& name, const std::string& value) {
    std::cout << fmt::format("{:<24}{:>24}\n", name, value);
  };
  if (json.contains("ranks")) std::cout << "if one rank did everything:\n\n";
  row("parameters", with_separators(json["parameters"]));
  for (const auto& [group, bytes] : json["bytes"].items()) {
    const auto count = bytes.get<int64_t>();
    row("bytes: " + group, with_separators(count));
  }
  row("", fmt::format("= {:.2f} GiB", json["bytes"]["total"].get<double>() / (1 << 30)));
  if (json.contains("stacks")) {
    std::cout << fmt::format("\n{:<24}{:>8}{:>8}{:>20}{:>20}\n", "optimizer", "count", "calls",
                             "bytes of state", "products a step");
    for (const Json& line : json["stacks"]) {
      std::cout << fmt::format("{:<24}{:>8}{:>8}{:>20}{:>20.1f}\n",
                               line["group"].get<std::string>(), line["count"].get<int64_t>(),
                               line["calls"].get<int64_t>(), with_separators(line["state_bytes"]),
                               line["products_per_update"].get<double>());
    }
    std::cout << "(products and GFLOP of a step: the mean of those after optimizer.start)\n\n";
  }
  row("steps", with_separators(json["steps"]));
  row("micro-batches a step", with_separators(json["micro_batches"]));
  row("tokens a step", with_separators(json["tokens_per_step"]));
  row("tokens", with_separators(json["tokens"]));
  row("tokens a parameter", fmt::format("{:.2f}", json["tokens_per_parameter"].get<double>()));
  row("GFLOP a step", fmt::format("{:.3f}", json["flops_per_step"].get<double>() / 1e9));
  row("GFLOP a token", fmt::format("{:.6f}", json["flops_per_token"].get<double>() / 1e9));
  if (json.contains("ranks")) print_ranks(json["ranks"]);
  if (json.contains("estimate")) print_estimates(json["estimate"]);
}

void plan(const Options& options) {
  const RunConfig config = options.config.load(/*log_warnings=*/true);
  const auto device = open_device(config.device, static_cast<int>(config.threads));
  Json json = plan_json(config, plan_step(*device, config));
  if (options.parameters) {
    json["parameter_list"] = parameters_json(config, llama_parameters(config.model));
  }
  if (options.ranks > 1) json["ranks"] = plan_ranks(*device, config, options.ranks);
  if (!options.gpu.empty()) {
    json["estimate"] =
        estimate_many_ranks(*device, config, find_gpu_model(options.gpu), 1e9 * options.network);
  }
  if (options.json) {
    std::cout << json.dump(2) << "\n";
  } else {
    print_table(json);
  }
}

}  // namespace

void add_plan_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plan", "print parameters, memory and work of a run");
  add_config_options(*command, options->config)->required();
  command->add_option("--ranks", options->ranks, "how a run of so many ranks would be shared out")
      ->check(CLI::Range(1, kMostPlannedRanks));
  command->add_option("--gpu", options->gpu,
                      "estimate the time of a step on 8 to 1024 GPUs: A100, H100, H200 or B200");
  command
      ->add_option("--network", options->network,
                   "GB/s from each GPU to other nodes; default: what is usual for the GPU")
      ->check(number_above(0));
  command->add_flag("--parameters", options->parameters,
                    "name every parameter, as optimizer.groups matches them");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options] { plan(*options); });
}

}  // namespace dashlm
