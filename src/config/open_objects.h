// What a JSON parser is within, for its callback: of several equal keys of an object, a value of
// nlohmann::json keeps the last without a word.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace dashlm {

class OpenObjects {
 public:
  // To be told of every event of the parser. False for a key that its object has already.
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
