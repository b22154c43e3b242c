// `dashlm plan`: the memory and work of a run, before it runs.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/plan_ranks.h"
#include "cli/plan_report.h"
#include "cli/report.h"
#include "model/parameters.h"

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

// Lists parameters by the names that the patterns of parameter groups match.
std::vector<PlannedParameter> planned_parameters(const RunConfig& config,
                                                 const ParameterLayout& layout) {
  const std::vector<double> scales = lr_multipliers(config.optimizer, layout);
  std::vector<PlannedParameter> list;
  for (size_t i = 0; i < scales.size(); ++i) {
    const Parameter& parameter = layout.parameters()[i];
    list.push_back({parameter.name, parameter.shape, scales[i]});
  }
  return list;
}

void plan(const Options& options) {
  const RunConfig config = options.config.load(/*log_warnings=*/true);
  const auto device = open_device(config);
  const TrainConfig& train = config.train;
  PlanReport report;
  report.step = plan_step(*device, config);
  report.steps = train.steps;
  report.micro_batches = (train.batch + train.micro_batch - 1) / train.micro_batch;
  report.step_tokens = train.batch * config.model.seq_len;
  if (options.parameters) {
    report.parameters = planned_parameters(config, llama_parameters(config.model));
  }
  if (options.ranks > 1) report.ranks = plan_ranks(*device, config, options.ranks);
  if (!options.gpu.empty()) {
    report.estimate =
        estimate_many_ranks(*device, config, find_gpu_model(options.gpu), 1e9 * options.network);
  }
  print_report(report, options.json, /*indent=*/2);
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
  add_json_option(*command, options->json);
  command->callback([options] { plan(*options); });
}

}  // namespace dashlm
