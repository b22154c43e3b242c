#include "config/known_keys.h"

#include <algorithm>
#include <set>

namespace dashlm {
namespace {

// One pass over a description with some types given. It notes the keys, and the names of types.
class Explorer final : public Schema {
 public:
  using Types = std::map<std::string, size_t>;  // by path of the "type"

  Explorer(const Types& types, KnownKeys& known) : types_(types), known_(known) {}

  const std::map<std::string, std::vector<std::string>>& selectors() const { return selectors_; }

  void field(const char* key, int64_t&, const char*, Range<int64_t>) override { note(key); }
  void field(const char* key, double&, const char*, Range<double>) override { note(key); }
  void field(const char* key, bool&, const char*) override { note(key); }
  void field(const char* key, std::string&, const char*) override { note(key); }
  void field(const char* key, std::vector<std::string>&, const char*) override { note(key); }

  void former(const char* key, std::vector<std::string>&) override { note(key); }
  void choice(const char* key, const std::vector<std::string>& names, size_t& index,
              const char*) override {
    note(key);
    if (key != std::string("type")) return;
    const std::string path = levels_.back().prefix + key;
    selectors_[path] = names;
    if (const auto given = types_.find(path); given != types_.end()) index = given->second;
    levels_.back().type = names[index];
  }

 protected:
  void open(const char* key, const char*) override {
    note(key);
    levels_.push_back({levels_.back().prefix + key + ".", ""});
  }
  void close() override { levels_.pop_back(); }
  std::optional<size_t> open_list(const char* key, size_t, const char*) override {
    note(key);
    list_ = levels_.back().prefix + key;
    return 1;
  }
  void open_item() override { levels_.push_back({list_ + "[].", ""}); }
  void close_list() override {}

 private:
  struct Level {
    std::string prefix, type;
  };

  void note(const char* key) {
    std::vector<std::string>& types = known_[levels_.back().prefix + key];
    const std::string& type = levels_.back().type;
    if (!type.empty() && std::find(types.begin(), types.end(), type) == types.end()) {
      types.push_back(type);
    }
  }

  const Types& types_;
  KnownKeys& known_;
  std::map<std::string, std::vector<std::string>> selectors_;
  std::vector<Level> levels_ = {{"", ""}};
  std::string list_;  // the path of the last one
};

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('.') + 1);  // npos + 1 is 0
}

std::string section_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

}  // namespace

KnownKeys known_keys(const Describe& describe_new) {
  KnownKeys known;
  std::set<std::pair<std::string, size_t>> tried;
  std::vector<Explorer::Types> left = {{}};
  while (!left.empty()) {
    const Explorer::Types types = left.back();
    left.pop_back();
    Explorer explorer(types, known);
    describe_new(explorer);
    for (const auto& [path, names] : explorer.selectors()) {
      for (size_t i = 0; i < names.size(); ++i) {
        if (types.contains(path) || !tried.insert({path, i}).second) continue;
        left.push_back(types);
        left.back()[path] = i;
      }
    }
  }
  return known;
}

std::string nearest_key(const std::string& path, const KnownKeys& known,
                        const std::vector<std::string>& present) {
  const std::string word = last_part(path);
  std::string best;
  std::pair<size_t, size_t> best_cost;
  for (const auto& [candidate, unused] : known) {
    const size_t distance = edit_distance(word, last_part(candidate));
    const bool near = section_of(candidate) == section_of(path);
    if (distance > (near ? std::max<size_t>(2, word.size() / 2) : word.size() / 3)) continue;
    const bool chosen = std::find(present.begin(), present.end(), candidate) != present.end();
    const std::pair cost = {distance + (near ? 0 : 1) + (chosen ? 0 : 1),
                            edit_distance(path, candidate)};
    if (!best.empty() && cost >= best_cost) continue;
    best = candidate;
    best_cost = cost;
  }
  return best;
}

}  // namespace dashlm
