#include "data/tokenize.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/timer.h"
#include "data/dataset_folder.h"
#include "data/documents.h"
#include "data/paths.h"
#include "data/shard_writer.h"
#include "data/tokenizer.h"
#include "io/file.h"

namespace dashlm {
namespace {

constexpr int64_t kChunkBytesPerThread = int64_t{2} << 20;
constexpr double kProgressSeconds = 10;
constexpr int64_t kMostThreads = 1024;
// Longer documents are encoded one at a time, since SentencePiece takes up to 200 bytes for a byte
// of text.
constexpr int64_t kLongDocumentBytes = int64_t{1} << 20;

struct Encoded {
  std::vector<int32_t> tokens;
  int64_t text_bytes = 0;
  int64_t unknown = 0;
};

void check(const TokenizeOptions& options) {
  require(!options.out.empty(), "no output directory is named");
  require(options.tokenizer.empty() != (options.train_tokenizer == 0),
          "name either a tokenizer to use or the size of one to train");
  require(options.val_fraction >= 0 && options.val_fraction <= 0.5,
          "the validation fraction is {}, but must be at least 0 and at most 0.5",
          options.val_fraction);
  require(options.threads >= 1 && options.threads <= kMostThreads,
          "{} threads are not possible; 1 to {} are", options.threads, kMostThreads);
  if (options.train_tokenizer != 0) check_vocab_size(options.train_tokenizer);
}

void check(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  require(!options.bos || tokenizer.bos() >= 0,
          "the tokenizer has no token for the beginning of a document; use --no-bos");
  require(!options.eos || tokenizer.eos() >= 0,
          "the tokenizer has no token for the end of a document; leave out --append-eos");
}

// Checks, before anything is written, that the inputs and the given tokenizer can be read.
void check_sources(const TokenizeOptions& options, const std::vector<std::string>& files) {
  if (!options.tokenizer.empty()) check(Tokenizer(options.tokenizer), options);
  for (const std::string& file : files) open_bytes(file);
}

// The dataset holds its tokenizer, so that its tokens can always be turned into text.
Tokenizer provide_tokenizer(const TokenizeOptions& options, const std::string& folder) {
  const std::string path = folder + "/tokenizer.model";
  if (options.train_tokenizer != 0) {
    spdlog::info("training a tokenizer of {} tokens", options.train_tokenizer);
    DocumentReader documents(options.inputs, options.skip_bad);
    train_bpe(documents, {.vocab_size = options.train_tokenizer}, path);
  } else {
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
  static std::mutex long_document;
  Encoded encoded;
  encoded.text_bytes = static_cast<int64_t>(text.size());
  {
    std::unique_lock lock(long_document, std::defer_lock);
    if (encoded.text_bytes > kLongDocumentBytes) lock.lock();
    encoded.tokens = tokenizer.encode(text);
  }
  encoded.unknown = std::count(encoded.tokens.begin(), encoded.tokens.end(), tokenizer.unknown());
  if (options.bos) encoded.tokens.insert(encoded.tokens.begin(), tokenizer.bos());
  if (options.eos) encoded.tokens.push_back(tokenizer.eos());
  return encoded;
}

// The documents in order. The next free thread encodes the next document.
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
  Dataset(const TokenizeOptions& options, const std::string& folder, int64_t vocab_size)
      : options_(options),
        folder_(folder),
        vocab_size_(vocab_size),
        train_(folder, "train", options.format, vocab_size, options.shard_tokens),
        val_(folder, "val", options.format, vocab_size, options.shard_tokens),
        val_every_(options.val_fraction > 0 ? std::llround(1 / options.val_fraction) : 0) {}

  void add(const Encoded& document) {
    const bool val = val_every_ > 0 && documents_ % val_every_ == val_every_ - 1;
    ++documents_;
    TokenizedPart& part = val ? result.val : result.train;
    part.documents += 1;
    part.tokens += static_cast<int64_t>(document.tokens.size());
    part.bytes += document.text_bytes;
    result.unknown += document.unknown;
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
        {"tokenizer_crc32", fmt::format("{:08x}", crc32_of_file(folder_ + "/tokenizer.model"))},
        {"bos", options_.bos},
        {"eos", options_.eos},
        {"skipped_documents", result.skipped},
        {"empty_documents", result.empty},
        {"unknown_tokens", result.unknown},
        {"train", describe_part(result.train, train_)},
        {"val", describe_part(result.val, val_)},
        {"sources", sources},
    };
    write_text_file(folder_ + "/dataset.json", json.dump(2) + "\n");
  }

  int64_t documents() const { return documents_; }

  TokenizeResult result;

 private:
  const TokenizeOptions& options_;
  std::string folder_;
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

// Warns about results that were probably not intended.
void warn_about(const Dataset& dataset, const TokenizeOptions& options) {
  const TokenizeResult& result = dataset.result;
  if (options.val_fraction > 0 && result.val.documents == 0) {
    spdlog::warn("no document went to validation: {} are too few for a fraction of {}",
                 dataset.documents(), options.val_fraction);
  }
  if (result.unknown > 0) {
    spdlog::warn(
        "{} of {} tokens are <unk>: the tokenizer does not know these characters and has no tokens "
        "for single bytes, so that they are lost; --train-tokenizer makes one that has",
        result.unknown, result.train.tokens + result.val.tokens);
  }
}

}  // namespace

TokenizeResult tokenize(const TokenizeOptions& options) {
  check(options);
  DocumentReader reader(options.inputs, options.skip_bad);
  check_sources(options, reader.files());
  DatasetBuilder builder(options.out, options.force);
  const Tokenizer tokenizer = provide_tokenizer(options, builder.work_folder());
  check(tokenizer, options);

  Dataset dataset(options, builder.work_folder(), tokenizer.vocab_size());
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
  dataset.result.skipped = reader.skipped();
  dataset.result.empty = reader.empty();
  dataset.result.vocab_size = tokenizer.vocab_size();
  dataset.finish(reader.files());
  builder.commit();
  log_progress(dataset, timer.seconds());
  warn_about(dataset, options);
  return dataset.result;
}

}  // namespace dashlm
