// Reading, writing and documenting configurations described by schema.h.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/schema.h"

namespace dashlm {

using Json = nlohmann::ordered_json;

// Calls describe() on the struct in question: [&](Schema& s) { config.describe(s); }
using Describe = std::function<void(Schema&)>;

// Parses a JSON file (comments allowed). "extends": "other.json" (relative to the file, or a list
// of such names) is replaced by the named files, this file's keys winning; an object of another
// "type" is replaced as a whole, since its keys are others. Errors name file, line and column.
Json load_config_json(const std::string& path);

// Parses one JSON text; `source` names it in errors.
Json parse_json(const std::string& text, const std::string& source);

// Sets one value from "section.key=value". The value is JSON, or else taken as a string; what
// begins as an object or a list must be valid.
void apply_override(Json& json, const std::string& assignment);

// Fills the described fields from `json`; keys that are absent keep their defaults. Throws on an
// unknown key (naming the nearest known one), a wrong type or a value out of range.
void read_config(const Json& json, const std::string& source, const Describe& describe);

// The described fields with their present values.
Json write_config(const Describe& describe);

// Every key with type, default, range and meaning, as aligned text or as a Markdown table.
enum class TableStyle { text, markdown };
std::string config_table(const Describe& describe, TableStyle style);

// Calls differ(key, old, new) for each value in which two JSON objects differ, by dotted path.
void for_differences(
    const Json& old_json, const Json& new_json,
    const std::function<void(const std::string&, const Json&, const Json&)>& differ,
    const std::string& prefix = "");

// The candidate with the smallest edit distance to `word`, or "" when none is near.
std::string nearest_word(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace dashlm
