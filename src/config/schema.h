// One description of a configuration struct serves parsing, range checks, the resolved file and
// the printed documentation.
//
// A struct describes itself once:
//
//   struct DataConfig {
//     int64_t seed = 42;
//     Shuffle shuffle = Shuffle::epoch;   // names from EnumNames<Shuffle>
//     void describe(Schema& s) {
//       s.field("seed", seed, "seed of the sample order", {.min = 0});
//       s.field("shuffle", shuffle, "order of the sequences");
//     }
//   };
//
// Each use of the description is a Schema. In config/config.h, read_config() fills the fields from
// JSON, write_config() makes JSON of them, and config_table() lists them for people.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dashlm {

// Closed interval of allowed values.
template <class T>
struct Range {
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
};

// Specialise for an enumeration used in a config:
//   static constexpr std::pair<E, const char*> names[] = {{E::a, "a"}, ...};
template <class E>
struct EnumNames;

template <class E>
const char* enum_name(E value) {
  for (const auto& [candidate, name] : EnumNames<E>::names) {
    if (candidate == value) return name;
  }
  return "?";
}

class Schema {
 public:
  virtual ~Schema() = default;

  virtual void field(const char* key, int64_t& value, const char* help,
                     Range<int64_t> range = {}) = 0;
  virtual void field(const char* key, double& value, const char* help,
                     Range<double> range = {}) = 0;
  virtual void field(const char* key, bool& value, const char* help) = 0;
  virtual void field(const char* key, std::string& value, const char* help) = 0;
  virtual void field(const char* key, std::vector<std::string>& value, const char* help) = 0;

  // Names of files and folders; a list may hold patterns. Reading makes them absolute. In a file
  // they are relative to its folder, on the command line to the current folder.
  virtual void path(const char* key, std::string& value, const char* help) {
    field(key, value, help);
  }
  virtual void path(const char* key, std::vector<std::string>& value, const char* help) {
    field(key, value, help);
  }

  template <class E>
  requires std::is_enum_v<E>
  void field(const char* key, E& value, const char* help) {
    std::vector<std::string> names;
    size_t index = 0;
    for (const auto& [candidate, name] : EnumNames<E>::names) {
      if (candidate == value) index = names.size();
      names.emplace_back(name);
    }
    choice(key, names, index, help);
    value = EnumNames<E>::names[index].first;
  }

  // One of `names`; `index` is the current choice and receives the new one.
  virtual void choice(const char* key, const std::vector<std::string>& names, size_t& index,
                      const char* help) = 0;

  // A key of older versions, which is read but neither written nor documented.
  virtual void former(const char*, std::vector<std::string>&) {}

  // A list of objects; each of a list that is read starts out as `standard`.
  template <class S>
  void list(const char* key, std::vector<S>& items, const S& standard, const char* help) {
    if (const std::optional<size_t> count = open_list(key, items.size(), help)) {
      items.assign(*count, standard);
    }
    for (S& item : items) {
      open_item();
      item.describe(*this);
      close();
    }
    close_list();
  }

  // A nested object.
  template <class S>
  void section(const char* key, S& value, const char* help) {
    open(key, help);
    value.describe(*this);
    close();
  }

 protected:
  virtual void open(const char* key, const char* help) = 0;
  virtual void close() = 0;
  // The number of items to read; none where the list stays as it is, with `count` items.
  virtual std::optional<size_t> open_list(const char* key, size_t count, const char* help) = 0;
  virtual void open_item() = 0;  // closed by close()
  virtual void close_list() = 0;
};

}  // namespace dashlm
