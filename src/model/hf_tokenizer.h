// A SentencePiece tokenizer in the files of which Hugging Face's transformers makes the same one.
//
// transformers' own reading of a tokenizer.model changed from version to version: the later ones
// drop a space at the start of a text. So a model like Llama 2's (byte pairs, bytes for what is not
// in the vocabulary, text taken as it is) is written out as tokenizer.json, whose every rule is
// said there, and which all versions read alike. Other models go as tokenizer.model alone.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dashlm {

struct HfTokenizer {
  int32_t bos = -1;  // -1: there is none
  int32_t eos = -1;
  std::vector<std::pair<std::string, std::string>> files;  // names and contents
};

// `path`: a SentencePiece model. `adds_bos`: whether texts begin with bos where the model has one,
// as documents do in training data. `context`: tokens the model takes at once.
HfTokenizer make_hf_tokenizer(const std::string& path, bool adds_bos, int64_t context);

}  // namespace dashlm
