// JSON files: "extends", comments, overrides.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "config/config.h"
#include "config/open_objects.h"

namespace dashlm {
namespace fs = std::filesystem;
namespace {

std::string read_text(const std::string& path) {
  std::error_code ignored;
  require(fs::exists(path, ignored), "config file '{}' does not exist", path);
  require(fs::is_regular_file(path, ignored), "config '{}' is not a file", path);
  std::ifstream file(path, std::ios::binary);
  require(file.good(), "cannot read config file '{}'", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Objects whose "type" differs have different keys: {"type": "dash", ...} does not extend
// {"type": "adamw", ...}.
bool of_one_type(const Json& a, const Json& b) {
  return !a.contains("type") || !b.contains("type") || a["type"] == b["type"];
}

// Objects of one type are merged key by key; anything else is replaced.
void merge_into(Json& base, const Json& over) {
  for (const auto& [key, value] : over.items()) {
    const bool merge = value.is_object() && base.contains(key) && base[key].is_object() &&
                       of_one_type(base[key], value);
    if (merge) {
      merge_into(base[key], value);
    } else {
      base[key] = value;
    }
  }
}

std::vector<std::string> take_extends(Json& json, const std::string& path) {
  if (!json.contains("extends")) return {};
  const Json value = json["extends"];
  json.erase("extends");
  if (value.is_string()) return {value.get<std::string>()};
  std::vector<std::string> names;
  require(value.is_array(), "{}: \"extends\" must be a file name or a list of them", path);
  for (const Json& name : value) {
    require(name.is_string(), "{}: \"extends\" must hold file names, not {}", path, name.dump());
    names.push_back(name.get<std::string>());
  }
  return names;
}

Json load(const std::string& path, std::vector<std::string>& chain) {
  const std::string canonical = fs::weakly_canonical(path).string();
  require(std::find(chain.begin(), chain.end(), canonical) == chain.end(),
          "{}: \"extends\" leads back to the file itself", path);
  chain.push_back(canonical);
  Json json = parse_json(read_text(path), path);
  require(json.is_object(), "{}: a config is a JSON object, not {}", path, json.type_name());
  Json merged = Json::object();
  for (const std::string& name : take_extends(json, path)) {
    merge_into(merged, load((fs::path(path).parent_path() / name).string(), chain));
  }
  merge_into(merged, json);
  chain.pop_back();
  return merged;
}

}  // namespace

Json parse_json(const std::string& text, const std::string& source) {
  constexpr int kDeepest = 64;
  OpenObjects open;
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    require(depth <= kDeepest, "{}: nested more than {} levels deep", source, kDeepest);
    require(open.accept(event, value), "{}: the key {} occurs twice in one object; remove one",
            source, value.dump());
    return true;
  };
  try {
    return Json::parse(text, check, true, /*ignore_comments=*/true);
  } catch (const nlohmann::json::parse_error& e) {
    const size_t at = std::min(text.size(), e.byte > 0 ? e.byte - 1 : 0);
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<int64_t>(at), '\n');
    const size_t line_start = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const size_t column = line_start == std::string::npos ? at + 1 : at - line_start;
    fail_input("{}:{}:{}: not valid JSON: {}", source, line, column, e.what());
  } catch (const Json::exception& e) {  // a number too large for any type
    fail_input("{}: not valid JSON: {}", source, e.what());
  }
}

Json load_config_json(const std::string& path) {
  std::vector<std::string> chain;
  return load(path, chain);
}

void apply_override(Json& json, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  require(equals != std::string::npos && equals > 0,
          "--set '{}': expected section.key=value, for example train.lr=0.001", assignment);
  const std::string text = assignment.substr(equals + 1);
  const bool plain = text.find_first_of("{[") != 0;  // neither an object nor a list
  Json value = plain ? Json::parse(text, nullptr, /*allow_exceptions=*/false)
                     : parse_json(text, fmt::format("--set '{}'", assignment));
  if (value.is_discarded()) value = text;

  const std::string keys = assignment.substr(0, equals);
  require(keys.front() != '.' && keys.back() != '.' && keys.find("..") == std::string::npos,
          "--set '{}': a key is empty", assignment);
  Json* node = &json;
  std::istringstream path(keys);
  std::string key;
  while (std::getline(path, key, '.')) {
    if (!node->is_object()) *node = Json::object();
    node = &(*node)[key];
  }
  *node = std::move(value);
}

void for_differences(
    const Json& old_json, const Json& new_json,
    const std::function<void(const std::string&, const Json&, const Json&)>& differ,
    const std::string& prefix) {
  for (const auto& [key, value] : new_json.items()) {
    const Json before = old_json.contains(key) ? old_json[key] : Json();
    if (value.is_object() && before.is_object()) {
      for_differences(before, value, differ, prefix + key + ".");
    } else if (before != value) {
      differ(prefix + key, before, value);
    }
  }
}

}  // namespace dashlm
