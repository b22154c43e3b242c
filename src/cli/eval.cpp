// `dashlm eval`: loss and perplexity of a checkpoint on token files, with its own weights and with
// rounded ones, and the outliers of its activations.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/eval_report.h"
#include "cli/options.h"
#include "cli/report.h"
#include "config/config.h"
#include "dist/launch.h"
#include "train/agreement.h"
#include "train/checkpoint.h"
#include "train/inference.h"
#include "train/thread_use.h"
#include "train/validation.h"

namespace dashlm {
namespace {

struct Options {
  std::string path;
  std::vector<std::string> data;
  int64_t batch = 0;
  DeviceOptions device;
  bool json = false;
  bool outliers = false;
  std::string quantize, group;  // as typed; empty: not given
};

constexpr const char* kChannel = "channel";
constexpr int64_t kInt4Group = 128;

std::optional<Quantization> quantization_of(const Options& options) {
  for (const auto& [format, name] : EnumNames<WeightFormat>::names) {
    if (options.quantize != name) continue;
    const int64_t usual = format == WeightFormat::int4 ? kInt4Group : 0;
    if (options.group.empty()) return Quantization{format, usual};
    return Quantization{format,
                        options.group == kChannel ? 0 : std::stoll(options.group, nullptr, 0)};
  }
  return std::nullopt;
}

// The parts of the report, each for all ranks together; nothing after a signal.
struct Evaluation {
  Communicator& communicator;
  Device& device;
  const RunConfig& config;
  const TokenStream& tokens;
  const int64_t batch;
  InferenceModel& model;

  // The batches of the first `most` sequences; 0 means all.
  SequentialBatches batches(int64_t most) const {
    return {tokens, config.model.seq_len, batch, most, communicator.rank(), communicator.size()};
  }
  std::optional<LossSum> loss() const {
    return evaluate_all(communicator, batches(0),
                        [&](const Batch& part) { return model.evaluate(part); });
  }
  std::optional<OutlierReport> outliers() const {
    return measure_outliers(communicator, device, config.model.n_layer, batches(kOutlierSequences),
                            [&](const Batch& part, const ForwardObserver& observer) {
                              return model.evaluate(part, observer);
                            });
  }
  // Comes last, since it rounds the model's weights.
  std::optional<QuantizedEvaluation> quantized(const Quantization& quantization) const {
    const RoundingError rounding = model.quantize(quantization);
    const std::optional<LossSum> rounded = loss();
    if (!rounded) return std::nullopt;
    return QuantizedEvaluation{quantization, rounding, *rounded};
  }
};

// Returns false after a signal.
bool fill_in(EvalReport& report, const Evaluation& evaluation, const Options& options) {
  const std::optional<LossSum> loss = evaluation.loss();
  if (!loss) return false;
  report.loss = *loss;
  if (options.outliers && !(report.outliers = evaluation.outliers())) return false;
  const std::optional<Quantization> quantization = quantization_of(options);
  return !quantization || (report.quantized = evaluation.quantized(*quantization));
}

int evaluate(const Options& options, Communicator& communicator) {
  // Rank 0 chooses, since a run that goes on writes checkpoints meanwhile.
  const std::string folder =
      communicator.exchange(communicator.rank() == 0 ? find_checkpoint(options.path) : "")[0];
  const RunConfig config = read_checkpoint_config(folder);
  const std::vector<std::string>& data = options.data.empty() ? config.data.val : options.data;
  require(!data.empty(), "the run of '{}' has no validation data; name files with --data", folder);
  const TokenStream tokens(data, config.model.vocab_size);
  require_agreement(communicator, {{"PATH", options.path},
                                   {"--batch", options.batch},
                                   {"--outliers", options.outliers},
                                   {"--quantize", options.quantize},
                                   {"--group", options.group},
                                   {"checksum of the data", tokens.fingerprint()}});
  const int64_t windows = (tokens.size() + config.model.seq_len - 1) / config.model.seq_len;
  const int64_t batch =
      std::min(windows, options.batch > 0 ? options.batch : config.train.micro_batch);

  const auto device = options.device.open(communicator.local_place());
  warn_of_crowded_threads(communicator, *device);
  InferenceModel model(*device, config, folder, batch);
  EvalReport report;
  report.checkpoint = folder;
  if (!fill_in(report, {communicator, *device, config, tokens, batch, model}, options)) {
    return 128 + stop_signal_of_ranks(communicator);
  }
  if (communicator.rank() > 0) return 0;
  print_report(report, options.json);
  return 0;
}

void add_quantization(CLI::App& command, Options& options) {
  std::vector<std::string> formats;
  for (const auto& [format, name] : EnumNames<WeightFormat>::names) formats.emplace_back(name);
  CLI::Option* quantize =
      command
          .add_option("--quantize", options.quantize,
                      "also with the weights of the layers rounded to int8 or int4")
          ->check(CLI::IsMember(formats))
          ->type_name("FORMAT");
  const CLI::Validator number = at_least(1);
  const auto check = [number](std::string text) -> std::string {
    if (text == kChannel || number(text).empty()) return "";
    return fmt::format("{} is neither '{}' nor a whole number of at least 1", text, kChannel);
  };
  command
      .add_option("--group", options.group,
                  fmt::format("weights that share a scale: {} (a row, default of int8), or so many "
                              "of a row (default of int4: {})",
                              kChannel, kInt4Group))
      ->check(CLI::Validator(check, ""))
      ->type_name("channel|N")
      ->needs(quantize);
}

}  // namespace

void add_eval_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "eval", "loss and perplexity of a checkpoint, also with rounded weights; outliers");
  add_path(*command, "PATH", options->path, "run directory or checkpoint folder")->required();
  add_paths(*command, "--data", options->data, "token files; default: data.val of the run");
  command->add_option("--batch", options->batch, "sequences at once; default: train.micro_batch")
      ->check(at_least(1));
  add_device_options(*command, options->device);
  command->add_flag("--outliers", options->outliers,
                    fmt::format("also kurtosis, max/rms and values beyond 6 sigma of activations "
                                "in each layer, over the first {} sequences",
                                kOutlierSequences));
  add_quantization(*command, *options);
  add_json_option(*command, options->json, "as JSON; docs/eval.md has the keys");
  command->callback([options, &exit_code] {
    exit_code =
        run_on_ranks([&](Communicator& communicator) { return evaluate(*options, communicator); });
  });
}

}  // namespace dashlm
