// `dashlm eval`: loss and perplexity of a checkpoint on token files.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "config/config.h"
#include "dist/launch.h"
#include "train/agreement.h"
#include "train/checkpoint.h"
#include "train/inference.h"
#include "train/metrics.h"
#include "train/thread_use.h"
#include "train/validation.h"

namespace dashlm {
namespace {

struct Options {
  std::string path;
  std::vector<std::string> data;
  int64_t batch = 0;
  std::string device = "auto";
  int threads = 0;
  bool json = false;
};

int evaluate(const Options& options, Communicator& communicator) {
  // Rank 0 chooses: a run that goes on writes checkpoints meanwhile.
  const std::string folder =
      communicator.exchange(communicator.rank() == 0 ? find_checkpoint(options.path) : "")[0];
  const RunConfig config = read_checkpoint_config(folder);
  const std::vector<std::string>& data = options.data.empty() ? config.data.val : options.data;
  require(!data.empty(), "the run of '{}' has no validation data; name files with --data", folder);
  const TokenStream tokens(data, config.model.vocab_size);
  require_agreement(communicator, {{"PATH", options.path},
                                   {"--batch", options.batch},
                                   {"checksum of the data", tokens.fingerprint()}});
  const int64_t windows = (tokens.size() + config.model.seq_len - 1) / config.model.seq_len;
  const int64_t batch =
      std::min(windows, options.batch > 0 ? options.batch : config.train.micro_batch);

  const auto device = open_device(options.device, options.threads, communicator.local_place());
  warn_of_crowded_threads(communicator, *device);
  InferenceModel model(*device, config, folder, batch);
  const SequentialBatches batches(tokens, config.model.seq_len, batch, 0, communicator.rank(),
                                  communicator.size());
  const std::optional<LossSum> sum =
      evaluate_all(communicator, batches, [&](const Batch& part) { return model.evaluate(part); });
  if (!sum) return 128 + stop_signal_of_ranks(communicator);
  if (communicator.rank() > 0) return 0;
  const LossSum& loss = *sum;

  if (options.json) {
    const Json json = {{"checkpoint", folder},
                       {"val_loss", loss.mean()},
                       {"val_ppl", std::exp(loss.mean())},
                       {"targets", loss.targets}};
    std::cout << json.dump() << "\n";
  } else {
    std::cout << fmt::format("{}: loss {:.4f}, perplexity {} over {} tokens\n", folder, loss.mean(),
                             perplexity_text(loss.mean()), loss.targets);
  }
  return 0;
}

}  // namespace

void add_eval_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("eval", "loss and perplexity of a checkpoint");
  add_path(*command, "PATH", options->path, "run directory or checkpoint folder")->required();
  add_paths(*command, "--data", options->data, "token files; default: data.val of the run");
  command->add_option("--batch", options->batch, "sequences at once; default: train.micro_batch")
      ->check(at_least(1));
  command->add_option("--device", options->device, "auto, cpu or cuda");
  command->add_option("--threads", options->threads, "CPU threads; 0: all")->check(at_least(0));
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &exit_code] {
    exit_code =
        run_on_ranks([&](Communicator& communicator) { return evaluate(*options, communicator); });
  });
}

}  // namespace dashlm
