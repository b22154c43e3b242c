#include "data/sentencepiece_file.h"

#include <cstring>
#include <string_view>

#include "base/error.h"

namespace dashlm {
namespace {

// One field of a protocol-buffer message: a number, or bytes.
struct Field {
  uint64_t id = 0;
  uint64_t number = 0;
  std::string_view bytes;
};

// The fields of a message, one after the other: protobuf's wire format.
class Message {
 public:
  Message(std::string_view bytes, const std::string& path) : rest_(bytes), path_(path) {}

  bool next(Field& field) {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    field = {key >> 3, 0, {}};
    switch (key & 7) {
      case 0:
        field.number = varint();
        break;
      case 1:
        field.bytes = take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.bytes = take(4);
        break;
      default:
        fail();
    }
    return true;
  }

 private:
  [[noreturn]] void fail() const { fail_input("'{}' is not a SentencePiece model", path_); }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    fail();
  }

  std::string_view take(uint64_t count) {
    if (count > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  const std::string& path_;
};

Piece parse_piece(Message message) {
  Piece piece;
  for (Field field; message.next(field);) {
    if (field.id == 1) piece.text = field.bytes;
    if (field.id == 2 && field.bytes.size() == 4) std::memcpy(&piece.score, field.bytes.data(), 4);
    if (field.id == 3) piece.type = static_cast<PieceType>(field.number);
  }
  return piece;
}

void parse_trainer(Message message, SentencePieceFile& file) {
  for (Field field; message.next(field);) {
    if (field.id == 3) file.model = static_cast<PieceModel>(field.number);
    if (field.id == 24) file.space_is_suffix = field.number != 0;
    if (field.id == 35) file.byte_fallback = field.number != 0;
  }
}

void parse_normalizer(Message message, SentencePieceFile& file) {
  for (Field field; message.next(field);) {
    if (field.id == 2) file.maps_characters = !field.bytes.empty();
    if (field.id == 3) file.adds_space_in_front = field.number != 0;
    if (field.id == 4) file.removes_extra_spaces = field.number != 0;
    if (field.id == 5) file.marks_spaces = field.number != 0;
  }
}

}  // namespace

SentencePieceFile parse_sentencepiece_file(const std::string& bytes, const std::string& path) {
  SentencePieceFile file;
  Message message(bytes, path);
  for (Field field; message.next(field);) {
    const Message part(field.bytes, path);
    if (field.id == 1) file.pieces.push_back(parse_piece(part));
    if (field.id == 2) parse_trainer(part, file);
    if (field.id == 3) parse_normalizer(part, file);
  }
  return file;
}

}  // namespace dashlm
