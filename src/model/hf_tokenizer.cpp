#include "model/hf_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "data/sentencepiece_file.h"
#include "data/tokenizer.h"
#include "io/file.h"

namespace dashlm {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSpace = "\u2581";

// Whether the rules below are all the rules of the model.
bool is_like_llama(const SentencePieceFile& file) {
  const bool odd_pieces =
      std::any_of(file.pieces.begin(), file.pieces.end(), [](const Piece& piece) {
        return piece.type == PieceType::user_defined || piece.type == PieceType::unused;
      });
  return file.model == PieceModel::bpe && !odd_pieces && !file.space_is_suffix &&
         !file.maps_characters && file.adds_space_in_front && !file.removes_extra_spaces &&
         file.marks_spaces;
}

// Whether this byte begins a UTF-8 character.
bool begins_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xc0) != 0x80;
}

// SentencePiece joins the two neighbours whose union has the highest score. So each way of cutting
// a piece in two is a merge, and merges into pieces of the highest score come first.
Json merges_of(const std::vector<Piece>& pieces) {
  std::unordered_map<std::string_view, size_t> normal;
  std::vector<size_t> order;
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (pieces[id].type != PieceType::normal) continue;
    normal[pieces[id].text] = id;
    order.push_back(id);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return pieces[a].score > pieces[b].score; });
  Json merges = Json::array();
  for (const size_t id : order) {
    const std::string_view text = pieces[id].text;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      const std::string_view left = text.substr(0, cut), right = text.substr(cut);
      if (!begins_character(right[0]) || !normal.contains(left) || !normal.contains(right))
        continue;
      merges.push_back(std::string(left) + " " + std::string(right));
    }
  }
  return merges;
}

Json model_of(const SentencePieceFile& file) {
  Json::object_t vocabulary;
  Json unknown;
  for (size_t id = 0; id < file.pieces.size(); ++id) {
    vocabulary.emplace_back(file.pieces[id].text, id);  // without a search: no piece comes twice
    if (file.pieces[id].type == PieceType::unknown) unknown = file.pieces[id].text;
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", unknown},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", true},
          {"byte_fallback", file.byte_fallback},
          {"vocab", vocabulary},
          {"merges", merges_of(file.pieces)}};
}

// Tokens that come from no text.
Json added_tokens(const std::vector<Piece>& pieces) {
  Json tokens = Json::array();
  for (size_t id = 0; id < pieces.size(); ++id) {
    const PieceType type = pieces[id].type;
    if (type != PieceType::unknown && type != PieceType::control) continue;
    tokens.push_back({{"id", id},
                      {"content", pieces[id].text},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  }
  return tokens;
}

// Puts bos in front of a text, or of each of two texts.
Json template_with(const std::string& bos, int32_t id) {
  const auto part = [&](const char* sequence, int type) {
    return Json::array({{{"SpecialToken", {{"id", bos}, {"type_id", type}}}},
                        {{"Sequence", {{"id", sequence}, {"type_id", type}}}}});
  };
  Json pair = part("A", 0);
  for (const Json& item : part("B", 1)) pair.push_back(item);
  return {{"type", "TemplateProcessing"},
          {"single", part("A", 0)},
          {"pair", pair},
          {"special_tokens",
           {{bos, {{"id", bos}, {"ids", Json::array({id})}, {"tokens", Json::array({bos})}}}}}};
}

Json tokenizer_json(const SentencePieceFile& file, int32_t added_bos) {
  const auto replace = [](const char* pattern, const char* content) {
    return Json{{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
  };
  const Json in = Json::array({{{"type", "Prepend"}, {"prepend", kSpace}}, replace(" ", kSpace)});
  const Json out = Json::array({replace(kSpace, " "),
                                {{"type", "ByteFallback"}},
                                {{"type", "Fuse"}},
                                {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}});
  const Json bos = added_bos < 0
                       ? Json()
                       : template_with(file.pieces[static_cast<size_t>(added_bos)].text, added_bos);
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens(file.pieces)},
          {"normalizer", {{"type", "Sequence"}, {"normalizers", in}}},
          {"pre_tokenizer", nullptr},
          {"post_processor", bos},
          {"decoder", {{"type", "Sequence"}, {"decoders", out}}},
          {"model", model_of(file)}};
}

}  // namespace

HfTokenizer make_hf_tokenizer(const std::string& path, bool adds_bos, int64_t context) {
  const std::string bytes = read_text_file(path);
  const Tokenizer tokenizer(path);
  const SentencePieceFile file = parse_sentencepiece_file(bytes, path);
  const auto piece = [&](int32_t id) {
    return id < 0 ? Json() : Json(file.pieces.at(static_cast<size_t>(id)).text);
  };
  const auto unknown = std::find_if(file.pieces.begin(), file.pieces.end(),
                                    [](const Piece& p) { return p.type == PieceType::unknown; });
  const bool like_llama = is_like_llama(file), has_bos = adds_bos && tokenizer.bos() >= 0;
  Json config = {{"tokenizer_class", like_llama ? "PreTrainedTokenizerFast" : "LlamaTokenizer"},
                 {"bos_token", piece(tokenizer.bos())},
                 {"eos_token", piece(tokenizer.eos())},
                 {"unk_token", unknown == file.pieces.end() ? Json() : Json(unknown->text)},
                 {"pad_token", nullptr},
                 {"add_bos_token", has_bos},
                 {"add_eos_token", false},
                 {"clean_up_tokenization_spaces", false},
                 {"model_max_length", context}};
  if (!like_llama) config["legacy"] = true;  // keeps a space at the start of a text

  HfTokenizer result{tokenizer.bos(), tokenizer.eos(), {}};
  result.files = {{"tokenizer.model", bytes}, {"tokenizer_config.json", config.dump(2) + "\n"}};
  if (like_llama) {
    const Json json = tokenizer_json(file, has_bos ? tokenizer.bos() : -1);
    result.files.emplace_back("tokenizer.json", json.dump(1) + "\n");
  }
  return result;
}

}  // namespace dashlm
