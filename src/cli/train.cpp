// `dashlm train`: a training run from a config, by one process or by all ranks of an mpirun.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/signals.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "config/paths.h"
#include "dist/launch.h"
#include "train/trainer.h"

namespace dashlm {
namespace {

struct Options {
  ConfigOptions config;
  std::string out;
  bool resume = false;
  bool resume_or_start = false;
  bool quiet = false;
};

RunStart start_of(const Options& options) {
  if (options.resume) return RunStart::resume;
  return options.resume_or_start ? RunStart::resume_or_start : RunStart::anew;
}

int train(const Options& options, Communicator& communicator) {
  RunConfig config = options.config.load(/*log_warnings=*/false);  // the trainer does
  if (!options.out.empty()) config.out = resolve_path(options.out, "", "--out");
  const auto device = open_device(config, communicator.local_place());
  const auto ranks = for_device(communicator, *device);
  return Trainer(*device, config, start_of(options), *ranks).run();
}

}  // namespace

void add_train_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("train", "train a model from a config");
  add_config_options(*command, options->config)->required();
  add_path(*command, "--out", options->out, "directory of the run")->type_name("DIR");
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
