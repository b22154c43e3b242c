#include "config/layers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "config/paths.h"

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

// --- Merging ---

// `old` and `value` at `path` may have different types. Then nothing of `old` stays.
void drop_another_type(ConfigLayers& base, Json& old, const ConfigLayers& over, const Json& value,
                       const std::string& path) {
  if (!old.contains("type") || !value.contains("type") || old["type"] == value["type"]) return;
  const Origin before = base.origin_of(path + ".type"), now = over.origin_of(path + ".type");
  if (before.layer == now.layer) return;
  std::vector<std::string> names;
  for (const auto& [key, unused] : old.items()) {
    if (key != "type") names.push_back(key);
  }
  if (!names.empty()) {
    base.notes.push_back(fmt::format("{}: {}.type = {} drops what {} gave for {}: {}", now.where(),
                                     path, value["type"].dump(), before.where(), old["type"].dump(),
                                     fmt::join(names, ", ")));
  }
  old = Json::object();
}

// Merges the keys of `from`, an object of `over`, into `into`, an object of `base`.
void merge(ConfigLayers& base, Json& into, const ConfigLayers& over, const Json& from,
           const std::string& prefix) {
  for (const auto& [key, value] : from.items()) {
    const std::string path = prefix + key;
    Json& old = into[key];
    if (value.is_object()) {
      if (!old.is_object()) old = Json::object();
      drop_another_type(base, old, over, value, path);
      merge(base, old, over, value, path + ".");
    } else {
      old = value;
    }
    base.origins[path] = over.origin_of(path);
  }
}

void merge(ConfigLayers& base, const ConfigLayers& over) {
  base.notes.insert(base.notes.end(), over.notes.begin(), over.notes.end());
  merge(base, base.json, over, over.json, "");
}

// --- Files ---

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

ConfigLayers load(const std::string& path, std::vector<std::string>& chain, int& layers) {
  const std::string canonical = fs::weakly_canonical(path).string();
  require(std::find(chain.begin(), chain.end(), canonical) == chain.end(),
          "{}: \"extends\" leads back to the file itself", path);
  chain.push_back(canonical);
  const std::string folder = fs::path(path).parent_path().string();
  ConfigLayers own, merged;
  std::map<std::string, int64_t> lines;
  own.json = parse_json(read_text(path), path, &lines);
  require(own.json.is_object(), "{}: a config is a JSON object, not {}", path,
          own.json.type_name());
  for (const std::string& name : take_extends(own.json, path)) {
    const std::string expanded = expand_home(name, path + ": \"extends\"");
    merge(merged, load((fs::path(folder) / expanded).string(), chain, layers));
  }
  own.origins[""] = {path, 0, folder, layers};
  for (const auto& [key, line] : lines) own.origins[key] = {path, line, folder, layers};
  ++layers;
  merge(merged, own);
  merged.origins[""] = own.origins[""];
  chain.pop_back();
  return merged;
}

// --- The command line ---

// Text that is not JSON is a string, except a number that no type holds.
Json value_of(const std::string& text, const std::string& source) {
  const bool plain = text.find_first_of("{[") != 0;  // neither an object nor a list
  const bool number = text.find_first_not_of("+-.eE0123456789") == std::string::npos;
  const bool huge = number && std::isinf(std::strtod(text.c_str(), nullptr));
  if (plain && !huge && !Json::accept(text)) return text;
  return parse_json(text, source);
}

ConfigLayers load_override(const std::string& assignment, int layer) {
  const std::string source = fmt::format("--set '{}'", assignment);
  const size_t equals = assignment.find('=');
  require(equals != std::string::npos && equals > 0,
          "{}: expected section.key=value, for example train.lr=0.001", source);
  const std::string keys = assignment.substr(0, equals);
  require(keys.front() != '.' && keys.back() != '.' && keys.find("..") == std::string::npos,
          "{}: a key is empty", source);
  ConfigLayers layers;
  layers.origins[""] = {source, 0, "", layer};
  Json* node = &layers.json;
  std::istringstream path(keys);
  for (std::string key; std::getline(path, key, '.');) node = &(*node)[key];
  *node = value_of(assignment.substr(equals + 1), source);
  return layers;
}

}  // namespace

std::string Origin::where() const {
  return line > 0 ? fmt::format("{}:{}", source, line) : source;
}

const Origin& ConfigLayers::origin_of(std::string path) const {
  static const Origin nowhere;
  while (true) {
    if (const auto found = origins.find(path); found != origins.end()) return found->second;
    if (path.empty()) return nowhere;
    const size_t part = path.find_last_of(".[");  // of "a.list[0].key"
    path.resize(part == std::string::npos ? 0 : part);
  }
}

ConfigLayers load_config_layers(const std::string& path) {
  std::vector<std::string> chain;
  int layers = 0;
  ConfigLayers result = load(path, chain, layers);
  result.layers = layers;
  return result;
}

void apply_overrides(ConfigLayers& layers, const std::vector<std::string>& assignments) {
  ConfigLayers line;  // one layer: the order of --set does not matter to types
  for (const std::string& assignment : assignments) {
    merge(line, load_override(assignment, layers.layers));
  }
  ++layers.layers;
  merge(layers, line);
}

}  // namespace dashlm
