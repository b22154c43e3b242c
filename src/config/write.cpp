// The Schemas that turn a struct into JSON and into documentation.
#include <algorithm>

#include "base/error.h"
#include "config/config.h"

namespace dashlm {
namespace {

class Writer final : public Schema {
 public:
  Writer() { stack_.push_back(&root_); }

  void field(const char* key, int64_t& value, const char*, Range<int64_t>) override {
    put(key, value);
  }
  void field(const char* key, double& value, const char*, Range<double>) override {
    put(key, value);
  }
  void field(const char* key, bool& value, const char*) override { put(key, value); }
  void field(const char* key, std::string& value, const char*) override { put(key, value); }
  void field(const char* key, std::vector<std::string>& value, const char*) override {
    put(key, value);
  }

  void choice(const char* key, const std::vector<std::string>& names, size_t& index,
              const char*) override {
    put(key, names[index]);
  }

  Json take() { return std::move(root_); }

 protected:
  void open(const char* key, const char*) override {
    Json& child = (*stack_.back())[key];
    child = Json::object();
    stack_.push_back(&child);
  }
  void close() override { stack_.pop_back(); }
  std::optional<size_t> open_list(const char* key, size_t, const char*) override {
    Json& list = (*stack_.back())[key];
    list = Json::array();
    stack_.push_back(&list);
    return {};
  }
  void open_item() override {
    stack_.back()->push_back(Json::object());
    stack_.push_back(&stack_.back()->back());
  }
  void close_list() override { stack_.pop_back(); }

 private:
  template <class T>
  void put(const char* key, const T& value) {
    (*stack_.back())[key] = value;
  }

  Json root_ = Json::object();
  std::vector<Json*> stack_;
};

class Documenter final : public Schema {
 public:
  struct Row {
    std::string key, type, standard, help;
  };

  void field(const char* key, int64_t& value, const char* help, Range<int64_t> range) override {
    add(key, "integer" + bounds(range), fmt::to_string(value), help);
  }
  void field(const char* key, double& value, const char* help, Range<double> range) override {
    add(key, "number" + bounds(range), fmt::format("{:g}", value), help);
  }
  void field(const char* key, bool& value, const char* help) override {
    add(key, "true or false", value ? "true" : "false", help);
  }
  void field(const char* key, std::string& value, const char* help) override {
    add(key, "string", '"' + value + '"', help);
  }
  void field(const char* key, std::vector<std::string>& value, const char* help) override {
    add(key, "string or list", Json(value).dump(), help);
  }

  void path(const char* key, std::string& value, const char* help) override {
    add(key, "path", '"' + value + '"', help);
  }
  void path(const char* key, std::vector<std::string>& value, const char* help) override {
    add(key, "path or list", Json(value).dump(), help);
  }

  void choice(const char* key, const std::vector<std::string>& names, size_t& index,
              const char* help) override {
    add(key, fmt::format("{}", fmt::join(names, ", ")), '"' + names[index] + '"', help);
  }

  // A section's keys come before its inner sections, under whose headings they would otherwise
  // stand.
  std::vector<Row> rows() const {
    std::vector<Row> all;
    for (const Section& section : sections_) {
      all.insert(all.end(), section.rows.begin(), section.rows.end());
    }
    return all;
  }

 protected:
  void open(const char* key, const char* help) override {
    const std::string path = sections_[open_.back()].prefix + key;
    open_.push_back(sections_.size());
    sections_.push_back({path + ".", {{path, "", "", help}}});
  }
  void close() override { open_.pop_back(); }
  // The help says what the objects hold.
  std::optional<size_t> open_list(const char* key, size_t, const char* help) override {
    add(key, "list of objects", "[]", help);
    return 0;
  }
  void open_item() override {}
  void close_list() override {}

 private:
  void add(const char* key, std::string type, std::string standard, const char* help) {
    Section& section = sections_[open_.back()];
    section.rows.push_back({section.prefix + key, std::move(type), std::move(standard), help});
  }

  template <class T>
  static std::string bounds(const Range<T>& range) {
    const bool below = range.min != Range<T>{}.min;
    const bool above = range.max != Range<T>{}.max;
    if (below && above) return fmt::format(", {} to {}", range.min, range.max);
    if (below) return fmt::format(", at least {}", range.min);
    if (above) return fmt::format(", at most {}", range.max);
    return "";
  }

  struct Section {
    std::string prefix;
    std::vector<Row> rows;
  };
  std::vector<Section> sections_ = {Section{}};  // in the order in which they open
  std::vector<size_t> open_ = {0};
};

std::string text_table(const std::vector<Documenter::Row>& rows) {
  size_t key = 0, type = 0, standard = 0;
  for (const auto& row : rows) {
    key = std::max(key, row.key.size());
    type = std::max(type, std::min<size_t>(row.type.size(), 40));
    standard = std::max(standard, row.standard.size());
  }
  std::string text;
  for (const auto& row : rows) {
    if (row.type.empty()) {  // a section
      text += fmt::format("\n{}: {}\n", row.key, row.help);
    } else {
      text += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {}\n", row.key, key, row.type, type,
                          row.standard, standard, row.help);
    }
  }
  return text;
}

std::string markdown_table(const std::vector<Documenter::Row>& rows) {
  std::string text = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const auto& row : rows) {
    text += row.type.empty() ? fmt::format("| **{}** | | | {} |\n", row.key, row.help)
                             : fmt::format("| `{}` | {} | `{}` | {} |\n", row.key, row.type,
                                           row.standard, row.help);
  }
  return text;
}

}  // namespace

Json write_config(const Describe& describe) {
  Writer writer;
  describe(writer);
  return writer.take();
}

std::string config_table(const Describe& describe, TableStyle style) {
  Documenter documenter;
  describe(documenter);
  return style == TableStyle::text ? text_table(documenter.rows())
                                   : markdown_table(documenter.rows());
}

}  // namespace dashlm
