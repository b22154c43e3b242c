// Parses JSON text. Errors give the line and column.
#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "config/config.h"
#include "config/open_objects.h"

namespace dashlm {
namespace {

// The position of the parser. The library itself tells only the positions of errors.
class Position {
 public:
  explicit Position(const std::string& text) : text_(text), stream_(text) {}

  std::istream& stream() { return stream_; }
  size_t offset() const {
    const auto at = stream_.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in);
    return at < 0 ? text_.size() : std::min(text_.size(), static_cast<size_t>(at));
  }
  int64_t line() {
    const size_t now = offset();
    const auto begin = text_.begin() + static_cast<int64_t>(counted_);
    line_ += std::count(begin, text_.begin() + static_cast<int64_t>(now), '\n');
    counted_ = now;
    return line_;
  }
  // The number that was read last, as it is written; the parser is one character beyond it.
  std::string number() const { return text_.substr(number_begin(), number_end() - number_begin()); }
  int64_t number_line() const {
    return 1 + std::count(text_.begin(), text_.begin() + static_cast<int64_t>(number_end()), '\n');
  }

 private:
  static constexpr const char* kOfNumbers = "+-.eE0123456789";

  size_t number_end() const {
    const size_t last = text_.find_last_of(kOfNumbers, std::max<size_t>(offset(), 1) - 1);
    return last + 1;  // npos + 1 is 0
  }
  size_t number_begin() const {
    const size_t end = number_end();
    return end == 0 ? 0 : text_.find_last_not_of(kOfNumbers, end - 1) + 1;
  }

  const std::string& text_;
  std::istringstream stream_;
  size_t counted_ = 0;
  int64_t line_ = 1;
};

// Collects the lines of keys as the parser reports them.
class KeyLines {
 public:
  explicit KeyLines(std::map<std::string, int64_t>* lines) : lines_(lines) {}

  void accept(Json::parse_event_t event, const Json& value, Position& position) {
    using Event = Json::parse_event_t;
    if (!lines_) return;
    if (event == Event::object_end || event == Event::array_end) path_.pop_back();
    if (event == Event::object_start && !path_.empty()) path_.back().items += 1;
    if (event == Event::object_start || event == Event::array_start) {
      path_.push_back({.list = event == Event::array_start});
    }
    if (event != Event::key) return;
    path_.back().key = value.get<std::string>();
    (*lines_)[path()] = position.line();
  }

 private:
  struct Level {
    bool list = false;
    std::string key = {};  // of an object
    int64_t items = 0;     // objects of a list so far
  };

  // "a.list[0].key"
  std::string path() const {
    std::string text;
    for (const Level& level : path_) {
      text += level.list ? fmt::format("[{}]", level.items - 1) : "." + level.key;
    }
    return text.substr(1);
  }

  std::map<std::string, int64_t>* lines_;
  std::vector<Level> path_;
};

// 1e-400 would be read as 0.
bool is_rounded_to_zero(const Json& value, Position& position) {
  if (!value.is_number_float() || value.get<double>() != 0.0) return false;
  const std::string number = position.number();
  const std::string digits = number.substr(0, number.find_first_of("eE"));
  return digits.find_first_of("123456789") != std::string::npos;
}

// A zero byte would end the text for the parser.
void require_no_zero_byte(const std::string& text, const std::string& source) {
  const size_t at = text.find('\0');
  const auto end = text.begin() + static_cast<int64_t>(std::min(at, text.size()));
  require(at == std::string::npos, "{}:{}: a zero byte; this is no text", source,
          1 + std::count(text.begin(), end, '\n'));
}

}  // namespace

Json parse_json(const std::string& text, const std::string& source,
                std::map<std::string, int64_t>* lines) {
  require_no_zero_byte(text, source);
  constexpr int kDeepest = 64;
  OpenObjects open;
  KeyLines key_lines(lines);
  Position position(text);
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    require(depth <= kDeepest, "{}: nested more than {} levels deep", source, kDeepest);
    require(open.accept(event, value), "{}:{}: the key {} occurs twice in one object; remove one",
            source, position.line(), value.dump());
    key_lines.accept(event, value, position);
    if (event == Json::parse_event_t::value && is_rounded_to_zero(value, position)) {
      fail_input("{}:{}: {} is too small for a number of 64 bits; write 0 if you mean that", source,
                 position.number_line(), position.number());
    }
    return true;
  };
  try {
    return Json::parse(position.stream(), check, true, /*ignore_comments=*/true);
  } catch (const nlohmann::json::parse_error& e) {
    const size_t at = std::min(text.size(), e.byte > 0 ? e.byte - 1 : 0);
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<int64_t>(at), '\n');
    const size_t line_start = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const size_t column = line_start == std::string::npos ? at + 1 : at - line_start;
    fail_input("{}:{}:{}: not valid JSON: {}", source, line, column, e.what());
  } catch (const Json::out_of_range&) {
    fail_input("{}:{}: {} is too large for a number of 64 bits", source, position.number_line(),
               position.number());
  }
}

}  // namespace dashlm
