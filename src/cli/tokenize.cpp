#include "cli/commands.h"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/options.h"
#include "data/tokenize.h"
#include "device/processors.h"

namespace dashlm {

void add_tokenize_command(CLI::App& app) {
  const auto options = std::make_shared<TokenizeOptions>();
  options->threads = usable_processors();
  CLI::App* command = app.add_subcommand(
      "tokenize", "make a dataset of token shards from documents (.txt, .jsonl, .json, or .gz)");
  add_paths(*command, "INPUT", options->inputs, "files, directories or patterns")->required();
  add_path(*command, "--out", options->out, "directory of the dataset")->required();
  auto* use = add_path(*command, "--tokenizer", options->tokenizer,
                       "SentencePiece model, such as tokenizer.model of a Llama 2");
  auto* train = command->add_option("--train-tokenizer", options->train_tokenizer,
                                    "train a tokenizer of this many tokens on the inputs instead");
  use->excludes(train);
  command
      ->add_option("--val-fraction", options->val_fraction,
                   "share of the documents that goes to validation")
      ->capture_default_str();
  command->add_option("--shard-tokens", options->shard_tokens, "tokens in a shard")
      ->capture_default_str();
  const std::vector<std::string> formats = {"raw", "llmc", "dashlm"};  // in the order of the enum
  const auto set_format = [options, formats](const std::string& name) {
    const auto found = std::find(formats.begin(), formats.end(), name);
    options->format = static_cast<ShardFormat>(found - formats.begin());
  };
  command->add_option_function<std::string>("--format", set_format, "of the token shards")
      ->check(CLI::IsMember(formats))
      ->default_str("dashlm");
  command->add_option("--threads", options->threads, "threads; the result does not depend on them")
      ->capture_default_str();
  command->add_flag(
      "--skip-bad", options->skip_bad,
      "leave out documents that are too long or not valid UTF-8 or JSON, and count them");
  command->add_flag("!--no-bos", options->bos, "no token before each document");
  command->add_flag("--append-eos", options->eos, "a token after each document");
  command->add_flag("--force", options->force,
                    "replace the dataset in the output directory, once the new one is complete");
  command->callback([options] {
    const TokenizeResult result = tokenize(*options);
    spdlog::info(
        "{}: {} training and {} validation tokens; {} bad and {} empty documents left out, {} "
        "unknown tokens",
        options->out, result.train.tokens, result.val.tokens, result.skipped, result.empty,
        result.unknown);
  });
}

}  // namespace dashlm
