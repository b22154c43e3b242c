// The Schema that fills a struct from JSON.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "config/config.h"
#include "config/known_keys.h"
#include "config/layers.h"
#include "config/paths.h"

namespace dashlm {
namespace {

// "at least 1 and at most 9", without bounds that come from the type alone.
template <class T>
std::string range_text(const Range<T>& range) {
  const bool below = range.min != Range<T>{}.min, above = range.max != Range<T>{}.max;
  return fmt::format("{}{}{}", below ? fmt::format("at least {}", range.min) : "",
                     below && above ? " and " : "",
                     above ? fmt::format("at most {}", range.max) : "");
}

class Reader final : public Schema {
 public:
  Reader(ConfigLayers& layers, const Describe* describe_new)
      : layers_(layers), describe_new_(describe_new) {
    levels_.push_back({&layers.json, "", {}, ""});
  }

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

  void path(const char* key, std::string& value, const char* help) override {
    field(key, value, help);
    if (levels_.back().json->contains(key)) resolve(key, value, false);
  }

  void path(const char* key, std::vector<std::string>& value, const char* help) override {
    field(key, value, help);
    if (!levels_.back().json->contains(key)) return;
    for (std::string& item : value) resolve(key, item, true);
  }

  void choice(const char* key, const std::vector<std::string>& names, size_t& index,
              const char*) override {
    const Json* json = find(key);
    if (!json) return;
    if (!json->is_string()) wrong_type(key, "a string", *json);
    const auto text = json->get<std::string>();
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) {
      const std::string near = nearest_word(text, names);
      fail_input("{}: \"{}\" is \"{}\", but must be one of {}{}", where(key), path_of(key), text,
                 fmt::join(names, ", "), near.empty() ? "" : "; did you mean " + near + "?");
    }
    index = static_cast<size_t>(found - names.begin());
    if (key == std::string("type")) levels_.back().type = text;
  }

  void former(const char* key, std::vector<std::string>& value) override { field(key, value, ""); }

  // Throws for the first key that no field has, unless it may be dropped.
  void finish() {
    note_unknown();
    if (unknown_.empty()) return;
    KnownKeys known;
    if (describe_new_) known = known_keys(*describe_new_);
    for (const std::string& path : known_) known.try_emplace(path);
    for (const Unknown& key : unknown_) {
      if (!drop(key, known)) fail_unknown(key, known);
    }
  }

 protected:
  void open(const char* key, const char*) override {
    static const Json empty = Json::object();
    const Json* json = find(key);
    if (json && !json->is_object()) wrong_type(key, "an object", *json);
    levels_.push_back({json ? json : &empty, path_of(key) + ".", {}, ""});
  }

  void close() override {
    note_unknown();
    levels_.pop_back();
  }

  std::optional<size_t> open_list(const char* key, size_t, const char*) override {
    const Json* json = find(key);
    if (json && !json->is_array()) wrong_type(key, "a list of objects", *json);
    lists_.push_back({json, path_of(key), 0});
    if (!json) return {};
    return json->size();
  }

  void open_item() override {
    static const Json empty = Json::object();
    List& list = lists_.back();
    const std::string path = fmt::format("{}[{}]", list.path, list.next);
    const Json* json = list.json ? &list.json->at(list.next++) : &empty;
    require(json->is_object(), "{}: \"{}\" must be an object, not {}",
            layers_.origin_of(path).where(), path, json->dump());
    levels_.push_back({json, path + ".", {}, ""});
  }

  void close_list() override { lists_.pop_back(); }

 private:
  struct List {
    const Json* json;  // null: not given
    std::string path;
    size_t next;
  };
  struct Level {
    const Json* json;
    std::string prefix;
    std::vector<std::string> known;
    std::string type;  // the layers' choice; "" for the default
  };
  struct Unknown {
    std::string path, object, type;  // a key of `object`, which has this type
  };

  std::string path_of(const char* key) const { return levels_.back().prefix + key; }
  std::string where(const char* key) const { return layers_.origin_of(path_of(key)).where(); }

  void resolve(const char* key, std::string& value, bool pattern) {
    const std::string what = fmt::format("{}: \"{}\"", where(key), path_of(key));
    value = resolve_path(value, layers_.origin_of(path_of(key)).folder, what, pattern);
  }

  void note_unknown() {
    const Level& level = levels_.back();
    for (const auto& [key, unused] : level.json->items()) {
      if (std::find(level.known.begin(), level.known.end(), key) != level.known.end()) continue;
      unknown_.push_back({level.prefix + key, level.prefix, level.type});
    }
  }

  // A key of another type is no mistake if its layer comes before the layer that chose the type.
  bool drop(const Unknown& key, const KnownKeys& known) {
    const auto found = known.find(key.path);
    if (found == known.end() || key.type.empty()) return false;
    const Origin &own = layers_.origin_of(key.path), &type = layers_.origin_of(key.object + "type");
    if (own.layer >= type.layer) return false;
    layers_.notes.push_back(fmt::format("{}: {}type = \"{}\" drops {} of {}, a key of {}",
                                        type.where(), key.object, key.type, key.path, own.where(),
                                        types_of(found->second)));
    return true;
  }

  [[noreturn]] void fail_unknown(const Unknown& key, const KnownKeys& known) {
    const std::string where = layers_.origin_of(key.path).where();
    const bool dotted = key.path.find('.', key.object.size()) != std::string::npos;
    require(!dotted, "{}: \"{}\" is no key: a dot opens no section; nest the objects", where,
            key.path.substr(key.object.size()));
    const auto same = known.find(key.path);
    if (same != known.end() && !same->second.empty()) {
      fail_input("{}: \"{}\" is a key of {}type {}{}; remove it or choose that type", where,
                 key.path, key.object, types_of(same->second),
                 key.type.empty() ? ", which is not the default"
                                  : fmt::format(", not of \"{}\"", key.type));
    }
    const std::string near = nearest_key(key.path, known, known_);
    fail_input("{}: unknown key \"{}\"{}; `dashlm config` lists all keys", where, key.path,
               near.empty() ? "" : fmt::format("; did you mean {}?", near));
  }

  static std::string types_of(const std::vector<std::string>& types) {
    return fmt::format("\"{}\"", fmt::join(types, "\" or \""));
  }

  const Json* find(const char* key) {
    Level& level = levels_.back();
    level.known.emplace_back(key);
    known_.push_back(level.prefix + key);
    const auto found = level.json->find(key);
    return found == level.json->end() ? nullptr : &*found;
  }

  static bool is_int64(const Json& json) {
    if (json.is_number_unsigned()) {
      return json.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
    }
    if (json.is_number_integer()) return true;
    // 1e3 and 1000.0 are integers to people, so they are accepted.
    if (!json.is_number_float()) return false;
    const auto value = json.get<double>();
    return value >= -0x1p63 && value < 0x1p63 && value == std::trunc(value);
  }

  [[noreturn]] void wrong_type(const char* key, const char* wanted, const Json& json) {
    fail_input("{}: \"{}\" must be {}, not {}", where(key), path_of(key), wanted, json.dump());
  }

  template <class T>
  void check_range(const char* key, T value, const Range<T>& range) {
    if (value >= range.min && value <= range.max) return;
    fail_input("{}: \"{}\" is {}, but must be {}", where(key), path_of(key), value,
               range_text(range));
  }

  ConfigLayers& layers_;
  const Describe* describe_new_;
  std::vector<Level> levels_;
  std::vector<List> lists_;  // those that are open
  std::vector<std::string> known_;
  std::vector<Unknown> unknown_;
};

}  // namespace

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
  ConfigLayers layers;
  layers.json = json;
  layers.origins[""].source = source;
  Reader reader(layers, nullptr);
  describe(reader);
  reader.finish();
}

void read_config(ConfigLayers& layers, const Describe& describe, const Describe& describe_new) {
  Reader reader(layers, &describe_new);
  describe(reader);
  reader.finish();
}

}  // namespace dashlm
