#include "data/tokenizer.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "data/documents.h"
#include "io/file.h"

namespace dashlm {
namespace {

// Longer lines are cut for training: SentencePiece would leave them out.
constexpr size_t kMaxSentence = size_t{1} << 14;

// SentencePiece leaves out every line with U+2585, which stands for unknown characters inside.
constexpr std::string_view kReserved = "\xe2\x96\x85";

// Pieces besides the text's: <unk>, <s>, </s> and one for each byte.
constexpr int64_t kFixedTokens = 3 + 256;
constexpr int64_t kMostTokens = int64_t{1} << 20;

// Keeps every stride-th document. The stride doubles whenever more than `limit` bytes are held. So
// the sample is spread over the whole corpus, whatever its size.
std::vector<std::string> sample(DocumentReader& documents, int64_t limit) {
  std::vector<std::string> kept;
  int64_t bytes = 0, stride = 1, index = 0;
  for (Document document; documents.next(document); ++index) {
    if (index % stride != 0) continue;
    bytes += static_cast<int64_t>(document.text.size());
    kept.push_back(std::move(document.text));
    while (bytes > limit && kept.size() > 1) {
      bytes = 0;
      size_t count = 0;
      for (size_t i = 0; i < kept.size(); i += 2) {
        bytes += static_cast<int64_t>(kept[i].size());
        if (i != count) kept[count] = std::move(kept[i]);
        ++count;
      }
      kept.resize(count);
      stride *= 2;
    }
  }
  return kept;
}

// The lines of the documents, cut at spaces to at most kMaxSentence bytes. They are also cut at
// kReserved, which is left out.
class Sentences final : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::string>& documents) : documents_(documents) { Next(); }

  bool done() const override { return done_; }
  const std::string& value() const override { return value_; }
  sentencepiece::util::Status status() const override { return {}; }

  void Next() override {
    value_.clear();
    while (value_.empty() && document_ < documents_.size()) {
      const std::string& text = documents_[document_];
      const size_t newline = std::min(text.find('\n', position_), text.size());
      const size_t reserved = std::string_view(text).substr(0, newline).find(kReserved, position_);
      const size_t line_end = std::min(newline, reserved);
      const size_t end = cut(text, line_end);
      value_.assign(text, position_, end - position_);
      position_ = end;
      if (end == line_end) position_ += end == newline ? 1 : kReserved.size();
      if (position_ >= text.size()) {
        ++document_;
        position_ = 0;
      }
    }
    done_ = value_.empty();
  }

 private:
  size_t cut(const std::string& text, size_t line_end) const {
    if (line_end - position_ <= kMaxSentence) return line_end;
    size_t end = text.rfind(' ', position_ + kMaxSentence);
    if (end != std::string::npos && end > position_) return end;
    end = position_ + kMaxSentence;
    while ((static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;  // not within a character
    return end;
  }

  const std::vector<std::string>& documents_;
  size_t document_ = 0, position_ = 0;
  std::string value_;
  bool done_ = false;
};

// The number in `text` that follows `words`, or -1.
int64_t number_after(const std::string& text, const std::string& words) {
  const size_t found = text.find(words);
  if (found == std::string::npos) return -1;
  return std::strtoll(text.c_str() + found + words.size(), nullptr, 10);
}

// Turns SentencePiece's message about the size into one about the user's options.
[[noreturn]] void fail_training(int64_t vocab_size, const std::string& reason) {
  const int64_t least = number_after(reason, fmt::format("required_chars. {} vs ", vocab_size));
  const int64_t most = number_after(reason, "Please set it to a value <= ");
  require(
      least < 0,
      "a tokenizer of {} tokens is too small for this text: it takes at least {}, {} fixed ones "
      "and one for each character; choose a larger size",
      vocab_size, least, kFixedTokens);
  require(most < 0,
          "this text is too small for a tokenizer of {} tokens: it gives at most {}; choose a "
          "smaller size, or train on more text",
          vocab_size, most);
  fail_input("cannot train a tokenizer of {} tokens: {}", vocab_size, reason);
}

}  // namespace

Tokenizer::Tokenizer(const std::string& path)
    : path_(path), model_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  const std::string bytes = read_text_file(path);
  const bool loaded = !bytes.empty() && model_->LoadFromSerializedProto(bytes).ok();
  require(loaded, "{} is not a SentencePiece model (tokenizer.model of a Llama 2 is one)", path);
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;

int64_t Tokenizer::vocab_size() const {
  return model_->GetPieceSize();
}
int32_t Tokenizer::bos() const {
  return model_->bos_id();
}
int32_t Tokenizer::eos() const {
  return model_->eos_id();
}
int32_t Tokenizer::unknown() const {
  return model_->unk_id();
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int> tokens;
  const auto status = model_->Encode({text.data(), text.size()}, &tokens);
  if (!status.ok()) fail_runtime("{} cannot encode a text: {}", path_, status.ToString());
  return tokens;
}

std::string Tokenizer::decode(const std::vector<int32_t>& tokens) const {
  for (const int32_t token : tokens) {
    require(token >= 0 && token < vocab_size(),
            "token {} is not in the vocabulary of {}, {} tokens", token, path_, vocab_size());
  }
  std::string text;
  const auto status = model_->Decode(tokens, &text);
  if (!status.ok()) fail_runtime("{} cannot decode tokens: {}", path_, status.ToString());
  return text;
}

void check_vocab_size(int64_t vocab_size) {
  require(vocab_size > kFixedTokens && vocab_size <= kMostTokens,
          "a tokenizer of {} tokens is not possible: it takes more than the {} that are fixed, and "
          "at most {}",
          vocab_size, kFixedTokens, kMostTokens);
}

void train_bpe(DocumentReader& documents, const TokenizerTraining& training,
               const std::string& path) {
  check_vocab_size(training.vocab_size);
  const std::vector<std::string> texts = sample(documents, training.sample_bytes);
  require(!texts.empty(), "there is no text to train a tokenizer on");
  Sentences sentences(texts);
  const std::unordered_map<std::string, std::string> options = {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(training.vocab_size)},
      {"num_threads", "4"},  // always the same, since the model records it
      {"byte_fallback", "true"},
      {"split_digits", "true"},
      {"allow_whitespace_only_pieces", "true"},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"character_coverage", "0.9999"},
      {"max_sentence_length", std::to_string(kMaxSentence + 1)},
      {"minloglevel", "2"},
  };
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &sentences, &model);
  if (!status.ok()) fail_training(training.vocab_size, status.ToString());
  write_text_file(path, model);
}

}  // namespace dashlm
