// `dashlm train`: a training run from a config, by one process or by all ranks of an mpirun.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/signals.h"
#include "cli/commands.h"
#include "dist/launch.h"
#include "train/trainer.h"

namespace dashlm {
namespace {

struct Options {
  std::string config, out;
  std::vector<std::string> overrides;
  bool resume = false;
  bool resume_or_start = false;
  bool quiet = false;
};

RunStart start_of(const Options& options) {
  if (options.resume) return RunStart::resume;
  return options.resume_or_start ? RunStart::resume_or_start : RunStart::anew;
}

int train(const Options& options, Communicator& communicator) {
  RunConfig config = load_run_config(options.config, options.overrides);
  if (!options.out.empty()) config.out = options.out;
  const auto device =
      open_device(config.device, static_cast<int>(config.threads), communicator.local_place());
  const auto ranks = for_device(communicator, *device);
  return Trainer(*device, config, start_of(options), *ranks).run();
}

}  // namespace

void add_train_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("train", "train a model from a config");
  command->add_option("CONFIG", options->config, "JSON file; see `dashlm config`")->required();
  command->add_option("--set", options->overrides, "override a value: section.key=value")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--out", options->out, "directory of the run")->type_name("DIR");
  CLI::Option* resume =
      command->add_flag("--resume", options->resume,
                        "go on from the newest checkpoint of the run that is in its directory");
  command
      ->add_flag("--resume-or-start", options->resume_or_start,
                 "the same, or start the run if its directory holds none: for queues")
      ->excludes(resume);
  command->add_flag("--quiet", options->quiet,
                    "on the terminal, warnings and errors only; log.txt has everything");
  command->callback([options, &exit_code] {
    ignore_broken_pipes();
    if (options->quiet) init_logging(true);
    exit_code =
        run_on_ranks([&](Communicator& communicator) { return train(*options, communicator); });
  });
}

}  // namespace dashlm
