#include "data/tokenize.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/timer.h"
#include "data/documents.h"
#include "data/paths.h"
#include "data/shard_writer.h"
#include "data/tokenizer.h"
#include "io/file.h"

namespace dashlm {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kChunkBytesPerThread = int64_t{2} << 20;
constexpr double kProgressSeconds = 10;

struct Encoded {
  std::vector<int32_t> tokens;
  int64_t text_bytes = 0;
};

void check(const TokenizeOptions& options) {
  require(!options.out.empty(), "no output directory is named");
  require(options.tokenizer.empty() != (options.train_tokenizer == 0),
          "name either a tokenizer to use or the size of one to train");
  require(options.val_fraction >= 0 && options.val_fraction <= 0.5,
          "the validation fraction is {}, but must be at least 0 and at most 0.5",
          options.val_fraction);
  require(options.threads >= 1, "{} threads are not possible", options.threads);
}

bool is_shard(const std::string& name) {
  const auto numbered = [&](std::string_view prefix) {
    return name.starts_with(prefix) && name.size() == prefix.size() + 9 && name.ends_with(".bin") &&
           std::all_of(name.begin() + static_cast<int64_t>(prefix.size()), name.end() - 4,
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  return numbered("train_") || numbered("val_");
}

// Makes the directory; removes what it holds of an earlier dataset, or throws.
void prepare_directory(const TokenizeOptions& options) {
  std::error_code error;
  fs::create_directories(options.out, error);
  require(!error, "cannot make directory {}: {}", options.out, error.message());
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(options.out, error)) {
    if (is_shard(entry.path().filename().string())) old.push_back(entry.path());
  }
  // The description goes first: without it the rest counts for nothing.
  const fs::path description = fs::path(options.out) / "dataset.json";
  if (fs::exists(description, error)) old.insert(old.begin(), description);
  require(old.empty() || options.force,
          "{} already holds a dataset ({} and {} more files); choose another directory, or replace "
          "it with --force",
          options.out, old.empty() ? "" : old[0].filename().string(), old.size() - 1);
  for (const fs::path& path : old) {
    fs::remove(path, error);
    if (error) fail_runtime("cannot remove {}: {}", path.string(), error.message());
  }
}

// The tokenizer ends up in the dataset, so that text can be made of its tokens for ever.
Tokenizer provide_tokenizer(const TokenizeOptions& options) {
  const std::string path = options.out + "/tokenizer.model";
  if (options.train_tokenizer != 0) {
    spdlog::info("training a tokenizer of {} tokens", options.train_tokenizer);
    DocumentReader documents(options.inputs, options.skip_bad);
    train_bpe(documents, {.vocab_size = options.train_tokenizer}, path);
  } else {
    const Tokenizer check_it(options.tokenizer);
    write_text_file(path, read_text_file(options.tokenizer));
  }
  return Tokenizer(path);
}

std::vector<Document> read_chunk(DocumentReader& reader, int64_t chunk_bytes) {
  std::vector<Document> documents;
  int64_t bytes = 0;
  for (Document document; bytes < chunk_bytes && reader.next(document);) {
    bytes += static_cast<int64_t>(document.text.size());
    documents.push_back(std::move(document));
  }
  return documents;
}

Encoded encode(const Tokenizer& tokenizer, const TokenizeOptions& options,
               const std::string& text) {
  Encoded encoded;
  encoded.text_bytes = static_cast<int64_t>(text.size());
  encoded.tokens = tokenizer.encode(text);
  if (options.bos) encoded.tokens.insert(encoded.tokens.begin(), tokenizer.bos());
  if (options.eos) encoded.tokens.push_back(tokenizer.eos());
  return encoded;
}

// The documents in order, each encoded by whichever thread is free.
std::vector<Encoded> encode_chunk(const Tokenizer& tokenizer, const TokenizeOptions& options,
                                  const std::vector<Document>& documents) {
  std::vector<Encoded> encoded(documents.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < documents.size(); i = next++) {
      encoded[i] = encode(tokenizer, options, documents[i].text);
    }
  };
  std::vector<std::future<void>> others;
  for (int64_t i = 1; i < options.threads; ++i) {
    others.push_back(std::async(std::launch::async, work));
  }
  work();
  for (auto& other : others) other.get();
  return encoded;
}

nlohmann::ordered_json describe_part(const TokenizedPart& part, const ShardWriter& writer) {
  nlohmann::ordered_json json = {
      {"documents", part.documents}, {"tokens", part.tokens}, {"text_bytes", part.bytes}};
  if (part.tokens > 0) {
    json["text_bytes_per_token"] =
        static_cast<double>(part.bytes) / static_cast<double>(part.tokens);
  }
  json["shards"] = nlohmann::ordered_json::array();
  for (const WrittenShard& shard : writer.shards()) {
    json["shards"].push_back({{"file", shard.file},
                              {"tokens", shard.tokens},
                              {"bytes", shard.bytes},
                              {"crc32", fmt::format("{:08x}", shard.crc)}});
  }
  return json;
}

// The two parts under construction.
class Dataset {
 public:
  Dataset(const TokenizeOptions& options, int64_t vocab_size)
      : options_(options),
        vocab_size_(vocab_size),
        train_(options.out, "train", options.format, vocab_size, options.shard_tokens),
        val_(options.out, "val", options.format, vocab_size, options.shard_tokens),
        val_every_(options.val_fraction > 0 ? std::llround(1 / options.val_fraction) : 0) {}

  void add(const Encoded& document) {
    const bool val = val_every_ > 0 && documents_ % val_every_ == val_every_ - 1;
    ++documents_;
    TokenizedPart& part = val ? result.val : result.train;
    part.documents += 1;
    part.tokens += static_cast<int64_t>(document.tokens.size());
    part.bytes += document.text_bytes;
    (val ? val_ : train_).add(document.tokens);
  }

  void finish(const std::vector<std::string>& files) {
    train_.finish();
    val_.finish();
    nlohmann::ordered_json sources = nlohmann::ordered_json::array();
    for (const std::string& file : files) sources.push_back(base_name(file));
    const nlohmann::ordered_json json = {
        {"version", 1},
        {"format", format_name(options_.format)},
        {"bytes_per_token", train_.bytes_per_token()},
        {"vocab_size", vocab_size_},
        {"tokenizer", "tokenizer.model"},
        {"tokenizer_crc32",
         fmt::format("{:08x}", crc32_of_file(options_.out + "/tokenizer.model"))},
        {"bos", options_.bos},
        {"eos", options_.eos},
        {"skipped_documents", result.skipped},
        {"train", describe_part(result.train, train_)},
        {"val", describe_part(result.val, val_)},
        {"sources", sources},
    };
    write_text_file(options_.out + "/dataset.json", json.dump(2) + "\n");
  }

  int64_t documents() const { return documents_; }

  TokenizeResult result;

 private:
  const TokenizeOptions& options_;
  int64_t vocab_size_;
  ShardWriter train_, val_;
  int64_t val_every_;  // 0: no validation part
  int64_t documents_ = 0;
};

void log_progress(const Dataset& dataset, double seconds) {
  const TokenizedPart &train = dataset.result.train, &val = dataset.result.val;
  const double megabytes = static_cast<double>(train.bytes + val.bytes) / 1e6;
  spdlog::info("{} documents, {:.1f} MB of text, {} tokens, {:.1f} MB/s", dataset.documents(),
               megabytes, train.tokens + val.tokens, megabytes / std::max(seconds, 1e-9));
}

}  // namespace

TokenizeResult tokenize(const TokenizeOptions& options) {
  check(options);
  DocumentReader reader(options.inputs, options.skip_bad);
  prepare_directory(options);
  const Tokenizer tokenizer = provide_tokenizer(options);
  require(!options.bos || tokenizer.bos() >= 0,
          "the tokenizer has no token for the beginning of a document; use --no-bos");
  require(!options.eos || tokenizer.eos() >= 0,
          "the tokenizer has no token for the end of a document; leave out --append-eos");

  Dataset dataset(options, tokenizer.vocab_size());
  const Timer timer;
  double reported = 0;
  const auto read = [&] { return read_chunk(reader, kChunkBytesPerThread * options.threads); };
  // The next documents are read while these are encoded.
  std::future<std::vector<Document>> ahead = std::async(std::launch::async, read);
  for (std::vector<Document> chunk; !(chunk = ahead.get()).empty();) {
    ahead = std::async(std::launch::async, read);
    for (const Encoded& document : encode_chunk(tokenizer, options, chunk)) dataset.add(document);
    if (timer.seconds() - reported > kProgressSeconds) {
      reported = timer.seconds();
      log_progress(dataset, reported);
    }
  }
  require(dataset.documents() > 0, "the {} input files hold no documents", reader.files().size());
  if (options.val_fraction > 0 && dataset.result.val.documents == 0) {
    spdlog::warn("no document went to validation: {} are too few for a fraction of {}",
                 dataset.documents(), options.val_fraction);
  }
  dataset.result.skipped = reader.skipped();
  dataset.result.vocab_size = tokenizer.vocab_size();
  dataset.finish(reader.files());
  log_progress(dataset, timer.seconds());
  return dataset.result;
}

}  // namespace dashlm
