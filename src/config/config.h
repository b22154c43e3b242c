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

// Calls describe() on the struct in question: [&](Schema& s) { config.describe(s); }
using Describe = std::function<void(Schema&)>;

// Parses one JSON text; `source` names it in errors, which give line and column. `lines`, if given,
// receives the line of each key by dotted path.
Json parse_json(const std::string& text, const std::string& source,
                std::map<std::string, int64_t>* lines = nullptr);

// Fills the described fields from `json`; keys that are absent keep their defaults. Throws on an
// unknown key (naming the nearest known one), a wrong type or a value out of range. `source` names
// it in errors; relative paths in it are relative to the current folder.
void read_config(const Json& json, const std::string& source, const Describe& describe);

// The described fields with their present values.
Json write_config(const Describe& describe);

// Every key with type, default, range and meaning, as aligned text or as a Markdown table.
enum class TableStyle { text, markdown };
std::string config_table(const Describe& describe, TableStyle style);

// Calls differ(key, old, new) for each value in which two JSON objects differ, by dotted path; of
// objects of different types for the "type" alone, since their other keys cannot be compared.
void for_differences(
    const Json& old_json, const Json& new_json,
    const std::function<void(const std::string&, const Json&, const Json&)>& differ,
    const std::string& prefix = "");

// The candidate with the smallest edit distance to `word`, or "" when none is near.
std::string nearest_word(const std::string& word, const std::vector<std::string>& candidates);
// Letters to insert, remove or replace to make one of the other.
size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace dashlm
