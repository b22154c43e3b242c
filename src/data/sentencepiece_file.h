// The content of a SentencePiece model file, as far as other libraries need it. SentencePiece's own
// library uses a model, but does not tell its kind or how it normalizes text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dashlm {

// Numbers as in sentencepiece_model.proto, here and below.
enum class PieceType { normal = 1, unknown, control, user_defined, unused, byte };
enum class PieceModel { unigram = 1, bpe, word, character };

struct Piece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::normal;
};

struct SentencePieceFile {
  std::vector<Piece> pieces;  // by id
  PieceModel model = PieceModel::unigram;
  bool byte_fallback = false;
  bool space_is_suffix = false;
  // Changes to a text before it is cut into pieces.
  bool maps_characters = false;
  bool adds_space_in_front = true;
  bool removes_extra_spaces = true;
  bool marks_spaces = true;  // as U+2581
};

// `bytes` is the content of a file that SentencePiece can load. `path` names it in errors.
SentencePieceFile parse_sentencepiece_file(const std::string& bytes, const std::string& path);

}  // namespace dashlm
