// `dashlm generate`: text from a checkpoint.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "data/tokenizer.h"
#include "train/checkpoint.h"
#include "train/inference.h"
#include "train/sampling.h"

namespace dashlm {
namespace {

struct Options {
  std::string path, prompt, tokenizer;
  int64_t tokens = 200;
  SamplingConfig sampling;
  std::string device = "auto";
  int threads = 0;
};

Tokenizer open_tokenizer(const Options& options, const RunConfig& config) {
  const std::string path = options.tokenizer.empty() ? config.data.tokenizer : options.tokenizer;
  require(!path.empty(), "the config names no data.tokenizer; pass --tokenizer FILE");
  Tokenizer tokenizer(path);
  require(tokenizer.vocab_size() <= config.model.vocab_size,
          "the tokenizer '{}' has {} tokens, the model only {}", path, tokenizer.vocab_size(),
          config.model.vocab_size);
  return tokenizer;
}

// Extends `text`; when the model's context is full, it goes on from the second half of it.
void extend(InferenceModel& model, const ModelConfig& config, const Options& options, int32_t eos,
            std::vector<int32_t>& text) {
  const auto context = static_cast<size_t>(config.seq_len);
  const auto tail = [&](size_t count) {
    return std::span<const int32_t>(text).last(std::min(count, text.size()));
  };
  std::vector<float> logits = model.append(tail(context));
  for (int64_t i = 0; i < options.tokens; ++i) {
    const int32_t token = sample_token(logits, options.sampling, i);
    if (token == eos) return;
    text.push_back(token);
    if (i + 1 == options.tokens) return;
    if (model.seen() < config.seq_len) {
      logits = model.append(tail(1));
    } else {
      model.forget();
      logits = model.append(tail(std::max<size_t>(1, context / 2)));
    }
  }
}

void generate(const Options& options) {
  const std::string folder = find_checkpoint(options.path);
  const RunConfig config = read_checkpoint_config(folder);
  const Tokenizer tokenizer = open_tokenizer(options, config);
  const auto device = open_device(options.device, options.threads);
  InferenceModel model(*device, config, folder, 1);

  std::vector<int32_t> text;
  if (tokenizer.bos() >= 0) text.push_back(tokenizer.bos());
  for (const int32_t token : tokenizer.encode(options.prompt)) text.push_back(token);
  require(!text.empty(), "this tokenizer has no token that begins a text; pass a --prompt");
  extend(model, config.model, options, tokenizer.eos(), text);
  std::cout << tokenizer.decode(text) << "\n";
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("generate", "write text with a trained model");
  command->add_option("PATH", options->path, "run directory or checkpoint folder")->required();
  command->add_option("--prompt", options->prompt, "how the text begins");
  command->add_option("--tokens", options->tokens, "tokens to add at most")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--temperature", options->sampling.temperature, "0: the likeliest token")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--top-k", options->sampling.top_k, "only the k likeliest tokens; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--top-p", options->sampling.top_p,
                   "only the likeliest tokens that together have this probability")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--seed", options->sampling.seed, "of the choices")->capture_default_str();
  command->add_option("--tokenizer", options->tokenizer,
                      "SentencePiece model; default: data.tokenizer of the run");
  command->add_option("--device", options->device, "auto, cpu or cuda");
  command->add_option("--threads", options->threads, "CPU threads; 0: all");
  command->callback([options] { generate(*options); });
}

}  // namespace dashlm
