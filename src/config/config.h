// Reading, writing and documenting configurations described by schema.h.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/schema.h"

namespace dashlm {

using Json = nlohmann::ordered_json;

// Calls describe() of a config struct: [&](Schema& s) { config.describe(s); }
using Describe = std::function<void(Schema&)>;

// Parses one JSON text. Errors name `source`, line and column. `lines`, if given, receives the line
// of each key by dotted path.
Json parse_json(const std::string& text, const std::string& source,
                std::map<std::string, int64_t>* lines = nullptr);

// Fills the described fields from `json`. Fields without a key keep their defaults. Throws on an
// unknown key (naming the nearest known one), a wrong type or a value out of range. Errors name
// `source`. Relative paths in `json` start from the current folder.
void read_config(const Json& json, const std::string& source, const Describe& describe);

// The described fields with their present values, as JSON.
Json write_config(const Describe& describe);

// Every key with type, default, range and meaning, as aligned text or as a Markdown table.
enum class TableStyle { text, markdown };
std::string config_table(const Describe& describe, TableStyle style);

// Calls differ(key, old, new) for each value in which two JSON objects differ; key is a dotted
// path. If two objects differ in "type", only that is reported, since their other keys cannot be
// compared.
void for_differences(
    const Json& old_json, const Json& new_json,
    const std::function<void(const std::string&, const Json&, const Json&)>& differ,
    const std::string& prefix = "");

// The candidate with the smallest edit distance to `word`, or "" when none is near.
std::string nearest_word(const std::string& word, const std::vector<std::string>& candidates);
// How many letters must be inserted, removed or replaced to turn one word into the other.
size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace dashlm
