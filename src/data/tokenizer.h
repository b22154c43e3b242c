// SentencePiece models: text to tokens and back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace dashlm {

class DocumentReader;

// Immutable once loaded: any number of threads may use one.
class Tokenizer {
 public:
  // Throws a bad_input Error when the file is missing or not a SentencePiece model.
  explicit Tokenizer(const std::string& path);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;

  int64_t vocab_size() const;
  int32_t bos() const;      // id of the token that begins a document, or -1
  int32_t eos() const;      // id of the token that ends a document, or -1
  int32_t unknown() const;  // id of the token for text outside the vocabulary

  // The tokens of `text` (UTF-8), without bos and eos.
  std::vector<int32_t> encode(std::string_view text) const;
  // The text of `tokens`. Control tokens vanish; ids out of range throw.
  std::string decode(const std::vector<int32_t>& tokens) const;

 private:
  std::string path_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> model_;
};

struct TokenizerTraining {
  int64_t vocab_size = 32000;
  // From a larger corpus every 2nd, 4th, 8th, ... document is taken, so that this much text
  // remains.
  int64_t sample_bytes = int64_t{64} << 20;
};

// Throws a bad_input Error for a size that no text makes possible.
void check_vocab_size(int64_t vocab_size);

// Trains a byte-pair model like Llama 2's and writes it to `path`: bytes for text outside the
// vocabulary, text taken as it is, digits one by one; 0 unknown, 1 bos, 2 eos. The file depends on
// the documents, vocab_size and sample_bytes alone. U+2585, which SentencePiece keeps for itself,
// is left out of the training text. When the documents are too few for the vocabulary, or have too
// many characters, throws a bad_input Error with the sizes that are possible.
void train_bpe(DocumentReader& documents, const TokenizerTraining& training,
               const std::string& path);

}  // namespace dashlm
