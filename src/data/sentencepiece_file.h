// What a SentencePiece model file holds, as far as other libraries must be told: its library knows
// how to use a model, but does not say how it normalizes text or of which kind it is.
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
  // How a text is changed before it is cut into pieces.
  bool maps_characters = false;
  bool adds_space_in_front = true;
  bool removes_extra_spaces = true;
  bool marks_spaces = true;  // as U+2581
};

// `bytes` are those of a file that SentencePiece can load; `path` names it in errors.
SentencePieceFile parse_sentencepiece_file(const std::string& bytes, const std::string& path);

}  // namespace dashlm
