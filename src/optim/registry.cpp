#include "optim/registry.h"

#include <algorithm>

#include "base/error.h"
#include "optim/adamw/config.h"
#include "optim/ademamix/config.h"
#include "optim/shampoo/config.h"

namespace dashlm {
namespace {

struct Entry {
  std::string type;
  AnyOptimizerSettings defaults;
};

// One line each. `shampoo` and `dash` are one implementation with different defaults.
std::vector<Entry>& entries() {
  static std::vector<Entry> all = {
      {"adamw", AdamwConfig{}},
      {"shampoo", BlockShampooConfig::shampoo_defaults()},
      {"dash", BlockShampooConfig{}},
      {"ademamix", AdemamixConfig{}},
  };
  return all;
}

const Entry* find(const std::string& type) {
  const auto found = std::ranges::find(entries(), type, &Entry::type);
  return found == entries().end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> optimizer_types() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) names.push_back(entry.type);
  return names;
}

AnyOptimizerSettings default_settings(const std::string& type) {
  const Entry* entry = find(type);
  require(entry, "there is no optimizer \"{}\"; there are {}", type,
          fmt::join(optimizer_types(), ", "));
  return entry->defaults;
}

void register_optimizer(const std::string& type, AnyOptimizerSettings defaults) {
  require(!find(type), "there is an optimizer \"{}\" already; give the new one another name", type);
  entries().push_back({type, std::move(defaults)});
}

}  // namespace dashlm
