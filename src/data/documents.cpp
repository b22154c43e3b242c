#include "data/documents.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/paths.h"

namespace dashlm {
namespace {

std::string without_gz(const std::string& name) {
  return name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
}

bool is_text(const std::string& name) {
  return without_gz(name).ends_with(".txt");
}

bool is_lines(const std::string& name) {
  const std::string plain = without_gz(name);
  return plain.ends_with(".jsonl") || plain.ends_with(".json");
}

// The allowed second bytes narrow down for some first bytes; that excludes overlong forms,
// surrogates and code points above U+10FFFF.
struct Sequence {
  int64_t length;  // 0: not a first byte
  uint8_t second_min, second_max;
};

Sequence sequence_of(uint8_t first) {
  if (first < 0x80) return {1, 0, 0};
  if (first < 0xc2) return {0, 0, 0};
  if (first < 0xe0) return {2, 0x80, 0xbf};
  if (first == 0xe0) return {3, 0xa0, 0xbf};
  if (first == 0xed) return {3, 0x80, 0x9f};
  if (first < 0xf0) return {3, 0x80, 0xbf};
  if (first == 0xf0) return {4, 0x90, 0xbf};
  if (first < 0xf4) return {4, 0x80, 0xbf};
  if (first == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

std::string too_long(const char* what, int64_t most) {
  return fmt::format("{} is longer than {} bytes; cut it into several documents", what, most);
}

// The text of one line of JSON; throws std::string with the reason when there is none.
std::string text_of(const std::string& line) {
  // A zero byte would end the text for the parser.
  const size_t zero = line.find('\0');
  if (zero != std::string::npos) throw fmt::format("byte {} of the line is zero", zero + 1);
  const int64_t invalid = first_invalid_utf8(line);
  if (invalid >= 0) throw fmt::format("byte {} of the line is not valid UTF-8", invalid + 1);
  try {
    nlohmann::json json = nlohmann::json::parse(line);
    if (!json.is_object()) throw std::string("the line is JSON, but not an object");
    const auto text = json.find("text");
    if (text == json.end()) throw std::string("the object has no key \"text\"");
    if (!text->is_string()) throw std::string("\"text\" is not a string");
    std::string& value = text->get_ref<std::string&>();
    if (std::ssize(value) > kMaxDocumentBytes) throw too_long("the text", kMaxDocumentBytes);
    return std::move(value);
  } catch (const nlohmann::json::parse_error& error) {
    throw fmt::format("not valid JSON at byte {} of the line", error.byte);
  }
}

}  // namespace

int64_t first_invalid_utf8(std::string_view text) {
  const auto size = static_cast<int64_t>(text.size());
  const auto byte = [&](int64_t i) { return static_cast<uint8_t>(text[static_cast<size_t>(i)]); };
  for (int64_t i = 0; i < size;) {
    const Sequence sequence = sequence_of(byte(i));
    if (sequence.length == 0 || i + sequence.length > size) return i;
    if (sequence.length > 1 &&
        (byte(i + 1) < sequence.second_min || byte(i + 1) > sequence.second_max)) {
      return i;
    }
    for (int64_t k = 2; k < sequence.length; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return i;
    }
    i += sequence.length;
  }
  return -1;
}

DocumentReader::DocumentReader(const std::vector<std::string>& inputs, bool skip_bad)
    : skip_bad_(skip_bad) {
  require(!inputs.empty(), "no documents are named");
  const auto known = [](const std::string& name) { return is_text(name) || is_lines(name); };
  const auto accept = [&](const std::string& name) {
    return known(name) && !name.ends_with(".json");
  };
  files_ = expand_paths(inputs, accept, "documents (.txt, .jsonl, .json, also with .gz)");
  for (const std::string& file : files_) {
    require(known(file),
            "{} is no kind of document known here: .txt, .jsonl or .json, perhaps with .gz", file);
  }
}

bool DocumentReader::next(Document& document) {
  while (file_ < files_.size()) {
    const bool found = is_text(files_[file_]) ? next_text(document) : next_line(document);
    if (found) return true;
  }
  return false;
}

// The file as a document; moves on to the next file.
bool DocumentReader::next_text(Document& document) {
  document.source = files_[file_++];
  document.text = read_up_to(document.source, kMaxDocumentBytes);
  if (std::ssize(document.text) > kMaxDocumentBytes) {
    bad(document.source, too_long("the text", kMaxDocumentBytes));
    return false;
  }
  if (document.text.starts_with("\xef\xbb\xbf")) document.text.erase(0, 3);  // byte order mark
  const int64_t invalid = first_invalid_utf8(document.text);
  if (invalid >= 0) {
    bad(document.source, fmt::format("byte {} is not valid UTF-8", invalid));
    return false;
  }
  return count(document);
}

// The next document of the present file; at its end moves on to the next file.
bool DocumentReader::next_line(Document& document) {
  const std::string& file = files_[file_];
  if (!lines_) lines_ = std::make_unique<LineReader>(file);
  std::string line;
  while (lines_->next(line)) {
    const bool blank = line.find_first_not_of(" \t\r") == std::string::npos;
    if (blank && !lines_->too_long()) continue;
    document.source = fmt::format("{}:{}", file, lines_->line());
    try {
      if (lines_->too_long()) throw too_long("the line", kMaxLineBytes);
      document.text = text_of(line);
      if (count(document)) return true;
    } catch (const std::string& reason) {
      bad(document.source, reason);
    }
  }
  lines_.reset();
  ++file_;
  return false;
}

bool DocumentReader::count(const Document& document) {
  if (!document.text.empty()) return true;
  ++empty_;
  return false;
}

void DocumentReader::bad(const std::string& source, const std::string& reason) {
  require(skip_bad_, "{}: {}; mend it, or leave out such documents with --skip-bad", source,
          reason);
  ++skipped_;
  constexpr int64_t kShown = 5;
  if (skipped_ <= kShown) spdlog::warn("left out {}: {}", source, reason);
  if (skipped_ == kShown + 1) spdlog::warn("further documents left out are only counted");
}

}  // namespace dashlm
