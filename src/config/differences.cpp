#include "config/config.h"

namespace dashlm {

void for_differences(
    const Json& old_json, const Json& new_json,
    const std::function<void(const std::string&, const Json&, const Json&)>& differ,
    const std::string& prefix) {
  const auto type_of = [](const Json& json) { return json.value("type", Json()); };
  if (type_of(old_json) != type_of(new_json)) {
    differ(prefix + "type", type_of(old_json), type_of(new_json));
    return;
  }
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
