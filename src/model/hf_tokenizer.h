// Writes a SentencePiece tokenizer as files from which Hugging Face's transformers makes the same
// tokenizer.
//
// Versions of transformers read a tokenizer.model differently: later versions drop a space at the
// start of a text. So a model like Llama 2's (byte pairs, bytes for text outside the vocabulary,
// text taken as it is) is written out as tokenizer.json. It spells out every rule, and all versions
// read it alike. Other models are written as tokenizer.model alone.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dashlm {

struct HfTokenizer {
  int32_t bos = -1;  // -1: none
  int32_t eos = -1;
  std::vector<std::pair<std::string, std::string>> files;  // names and contents
};

// `path` is a SentencePiece model. With `adds_bos` texts begin with the model's bos, if it has one,
// as documents do in training data. `context` is the number of tokens that the model takes at once.
HfTokenizer make_hf_tokenizer(const std::string& path, bool adds_bos, int64_t context);

}  // namespace dashlm
