// `dashlm generate`: text from a checkpoint.
#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/usage.h"
#include "data/documents.h"
#include "data/tokenizer.h"
#include "train/checkpoint.h"
#include "train/inference.h"
#include "train/run_tokenizer.h"
#include "train/sampling.h"

namespace dashlm {
namespace {

struct Options {
  std::string path, prompt, tokenizer;
  int64_t tokens = 200;
  SamplingConfig sampling;
  DeviceOptions device;
};

Tokenizer open_tokenizer(const Options& options, const RunConfig& config,
                         const std::string& checkpoint) {
  const std::string path =
      options.tokenizer.empty() ? find_tokenizer(checkpoint, config) : options.tokenizer;
  require(!path.empty(), "the config names no data.tokenizer; pass --tokenizer FILE");
  Tokenizer tokenizer(path);
  require(tokenizer.vocab_size() <= config.model.vocab_size,
          "the tokenizer '{}' has {} tokens, the model only {}", path, tokenizer.vocab_size(),
          config.model.vocab_size);
  return tokenizer;
}

// "-" stands for the whole standard input without a newline at its end.
std::string prompt_of(const Options& options) {
  if (options.prompt != "-") return options.prompt;
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  if (text.ends_with('\n')) text.pop_back();
  const int64_t invalid = first_invalid_utf8(text);
  require(invalid < 0, "the prompt on the standard input is not UTF-8: byte {} is not valid",
          invalid + 1);
  return text;
}

// Writes text as its tokens come. A character may take several tokens, and a token's text may
// depend on the next token (a space before it). So the whole text is decoded each time, and its new
// part is written up to the last whole character.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void show(const std::vector<int32_t>& tokens, bool last) {
    const std::string text = tokenizer_.decode(tokens);
    size_t end = text.size();
    while (!last && end >= written_ + 3 && text.compare(end - 3, 3, "\uFFFD") == 0) end -= 3;
    if (end > written_) std::cout << text.substr(written_, end - written_) << std::flush;
    require_output_written();
    written_ = std::max(written_, end);
  }

 private:
  const Tokenizer& tokenizer_;
  size_t written_ = 0;  // bytes
};

// Extends `text` and calls show() after each token. When the model's context is full, it goes on
// from the second half of the context.
void extend(InferenceModel& model, const ModelConfig& config, const Options& options, int32_t eos,
            std::vector<int32_t>& text, const std::function<void()>& show) {
  const auto context = static_cast<size_t>(config.seq_len);
  const auto tail = [&](size_t count) {
    return std::span<const int32_t>(text).last(std::min(count, text.size()));
  };
  std::vector<float> logits = model.append(tail(context));
  for (int64_t i = 0; i < options.tokens; ++i) {
    const int32_t token = sample_token(logits, options.sampling, i);
    if (token == eos) return;
    text.push_back(token);
    show();
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
  const Tokenizer tokenizer = open_tokenizer(options, config, folder);
  const auto device = options.device.open();
  InferenceModel model(*device, config, folder, 1);

  std::vector<int32_t> text;
  if (tokenizer.bos() >= 0) text.push_back(tokenizer.bos());
  for (const int32_t token : tokenizer.encode(prompt_of(options))) text.push_back(token);
  require(!text.empty(), "this tokenizer has no token that begins a text; pass a --prompt");
  TextStream stream(tokenizer);
  stream.show(text, /*last=*/false);
  extend(model, config.model, options, tokenizer.eos(), text, [&] { stream.show(text, false); });
  stream.show(text, /*last=*/true);
  std::cout << "\n";
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("generate", "write text with a trained model");
  add_path(*command, "PATH", options->path, "run directory or checkpoint folder")->required();
  command->add_option("--prompt", options->prompt,
                      "how the text begins; - reads it from the standard input");
  command->add_option("--tokens", options->tokens, "tokens to add at most")
      ->check(at_least(0))
      ->capture_default_str();
  command->add_option("--temperature", options->sampling.temperature, "0: the likeliest token")
      ->check(number_at_least(0))
      ->capture_default_str();
  command->add_option("--top-k", options->sampling.top_k, "only the k likeliest tokens; 0: all")
      ->check(at_least(0))
      ->capture_default_str();
  command
      ->add_option("--top-p", options->sampling.top_p,
                   "only the likeliest tokens that together have this probability")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--seed", options->sampling.seed, "of the choices")->capture_default_str();
  add_path(*command, "--tokenizer", options->tokenizer,
           "SentencePiece model; default: that of the run, which keeps a copy of data.tokenizer");
  add_device_options(*command, options->device);
  command->callback([options] { generate(*options); });
}

}  // namespace dashlm
