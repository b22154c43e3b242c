// The objects that a JSON parser has open, so that its callback finds repeated keys. Without it a
// value of nlohmann::json silently keeps the last of several equal keys.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace dashlm {

class OpenObjects {
 public:
  // Call it with every event of the parser. Returns false for a key that its object has already.
  template <class AnyJson>
  bool accept(typename AnyJson::parse_event_t event, const AnyJson& value) {
    using Event = typename AnyJson::parse_event_t;
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    return event != Event::key || keys_.back().insert(value.template get<std::string>()).second;
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

}  // namespace dashlm
