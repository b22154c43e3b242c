// Documents: the texts that a tokenizer is trained on and that datasets are made of.
//
// By name, with or without .gz:
//   .txt           one document a file
//   .jsonl .json   one JSON object a line with the text under "text", as C4 is published. In a
//                  directory a plain .json is passed over: it usually describes the others.
//
// A further kind of file is another case in DocumentReader::next().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.h"

namespace dashlm {

// Longer documents are bad documents. SentencePiece takes up to 200 bytes for a byte of text, which
// is 3 GiB for a document of this length.
inline constexpr int64_t kMaxDocumentBytes = int64_t{16} << 20;

struct Document {
  std::string text;    // valid UTF-8, not empty
  std::string source;  // for messages: "corpus.jsonl:17"
};

class DocumentReader {
 public:
  // `inputs` as in expand_paths(). A bad document (not UTF-8, not JSON, no text, too long) is a
  // bad_input Error that names file and line. With `skip_bad` it is left out and counted instead. A
  // file that cannot be read or unpacked is always an error. Documents whose text is empty are
  // passed over and counted. Blank lines are no documents.
  DocumentReader(const std::vector<std::string>& inputs, bool skip_bad);

  bool next(Document& document);                // false at the end
  int64_t skipped() const { return skipped_; }  // bad documents left out
  int64_t empty() const { return empty_; }      // documents whose text is empty
  const std::vector<std::string>& files() const { return files_; }

 private:
  bool next_line(Document& document);
  bool next_text(Document& document);
  // Whether the document has text. Counts empty documents.
  bool count(const Document& document);
  void bad(const std::string& source, const std::string& reason);

  std::vector<std::string> files_;
  bool skip_bad_;
  size_t file_ = 0;  // being read
  std::unique_ptr<LineReader> lines_;
  int64_t skipped_ = 0, empty_ = 0;
};

// Offset of the first byte that is not part of well-formed UTF-8 (Unicode 15, table 3-7), or -1.
int64_t first_invalid_utf8(std::string_view text);

}  // namespace dashlm
