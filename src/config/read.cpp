// The Schema that fills a struct from JSON.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "config/config.h"

namespace dashlm {
namespace {

class Reader final : public Schema {
 public:
  Reader(const Json& json, const std::string& source) : source_(source) { push(json, ""); }

  void field(const char* key, int64_t& value, const char*, Range<int64_t> range) override {
    const Json* json = find(key);
    if (!json) return;
    if (!is_int64(*json)) wrong_type(key, "an integer", *json);
    value = json->get<int64_t>();
    check_range(key, value, range);
  }

  void field(const char* key, double& value, const char*, Range<double> range) override {
    const Json* json = find(key);
    if (!json) return;
    if (!json->is_number()) wrong_type(key, "a number", *json);
    value = json->get<double>();
    check_range(key, value, range);
  }

  void field(const char* key, bool& value, const char*) override {
    const Json* json = find(key);
    if (!json) return;
    if (!json->is_boolean()) wrong_type(key, "true or false", *json);
    value = json->get<bool>();
  }

  void field(const char* key, std::string& value, const char*) override {
    const Json* json = find(key);
    if (!json) return;
    if (!json->is_string()) wrong_type(key, "a string", *json);
    value = json->get<std::string>();
  }

  void field(const char* key, std::vector<std::string>& value, const char*) override {
    const Json* json = find(key);
    if (!json) return;
    const auto is_string = [](const Json& item) { return item.is_string(); };
    if (json->is_string()) {
      value = {json->get<std::string>()};
    } else if (json->is_array() && std::all_of(json->begin(), json->end(), is_string)) {
      value = json->get<std::vector<std::string>>();
    } else {
      wrong_type(key, "a string or a list of strings", *json);
    }
  }

  // Throws if the object that is open at the top holds a key nobody asked for.
  void finish() {
    const Level& level = levels_.back();
    for (const auto& [key, unused] : level.json->items()) {
      if (std::find(level.known.begin(), level.known.end(), key) != level.known.end()) continue;
      const std::string near = nearest_word(key, level.known);
      fail_input("{}: unknown key \"{}\"{}; `dashlm config` lists all keys", source_,
                 level.prefix + key, near.empty() ? "" : "; did you mean \"" + near + "\"?");
    }
    levels_.pop_back();
  }

 protected:
  void choice(const char* key, const std::vector<std::string>& names, size_t& index,
              const char*) override {
    const Json* json = find(key);
    if (!json) return;
    if (!json->is_string()) wrong_type(key, "a string", *json);
    const auto text = json->get<std::string>();
    const auto found = std::find(names.begin(), names.end(), text);
    require(found != names.end(), "{}: \"{}\" is \"{}\", but must be one of {}", source_,
            path_of(key), text, fmt::join(names, ", "));
    index = static_cast<size_t>(found - names.begin());
  }

  void open(const char* key, const char*) override {
    static const Json empty = Json::object();
    const Json* json = find(key);
    if (json && !json->is_object()) wrong_type(key, "an object", *json);
    push(json ? *json : empty, path_of(key) + ".");
  }

  void close() override { finish(); }

 private:
  struct Level {
    const Json* json;
    std::string prefix;
    std::vector<std::string> known;
  };

  void push(const Json& json, std::string prefix) { levels_.push_back({&json, prefix, {}}); }
  std::string path_of(const char* key) const { return levels_.back().prefix + key; }

  const Json* find(const char* key) {
    Level& level = levels_.back();
    level.known.emplace_back(key);
    const auto found = level.json->find(key);
    return found == level.json->end() ? nullptr : &*found;
  }

  static bool is_int64(const Json& json) {
    if (json.is_number_unsigned()) {
      return json.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
    }
    if (json.is_number_integer()) return true;
    // 1e3 and 1000.0 are integers to people, so they are to us.
    if (!json.is_number_float()) return false;
    const auto value = json.get<double>();
    return value >= -0x1p63 && value < 0x1p63 && value == std::trunc(value);
  }

  [[noreturn]] void wrong_type(const char* key, const char* wanted, const Json& json) {
    fail_input("{}: \"{}\" must be {}, not {}", source_, path_of(key), wanted, json.dump());
  }

  template <class T>
  void check_range(const char* key, T value, const Range<T>& range) {
    require(value >= range.min && value <= range.max,
            "{}: \"{}\" is {}, but must be at least {} and at most {}", source_, path_of(key),
            value, range.min, range.max);
  }

  std::string source_;
  std::vector<Level> levels_;
};

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

void read_config(const Json& json, const std::string& source, const Describe& describe) {
  require(json.is_object(), "{}: expected a JSON object, not {}", source, json.type_name());
  Reader reader(json, source);
  describe(reader);
  reader.finish();
}

}  // namespace dashlm
