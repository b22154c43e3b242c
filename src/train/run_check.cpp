#include "train/run_check.h"

#include <functional>
#include <sstream>

#include "base/error.h"
#include "config/config.h"
#include "data/tokenizer.h"
#include "io/file.h"
#include "train/run_config.h"

namespace dashlm {
namespace {

std::string check_config(const std::string& path) {
  load_run_config(path, {});
  return "a config";
}

// A killed process may have left half a last line, which the next process removes.
std::string check_metrics(const std::string& path) {
  const std::string text = read_text_file(path);
  std::istringstream lines(text);
  int64_t count = 0;
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    ++count;
    require(Json::parse(line, nullptr, /*allow_exceptions=*/false).is_object(),
            "{}:{} is not a JSON object", path, count);
  }
  return fmt::format("{} lines", count);
}

std::string check_tokenizer(const std::string& path) {
  return fmt::format("a vocabulary of {}", Tokenizer(path).vocab_size());
}

}  // namespace

std::vector<FileCheck> check_run_files(const std::string& folder) {
  const std::pair<const char*, std::function<std::string(const std::string&)>> files[] = {
      {"config.json", check_config},
      {"metrics.jsonl", check_metrics},
      {"tokenizer.model", check_tokenizer}};
  std::vector<FileCheck> checks;
  for (const auto& [name, check] : files) {
    const std::string path = folder + "/" + name;
    if (!path_exists(path)) continue;
    try {
      checks.push_back({path, "", check(path)});
    } catch (const Error& error) {
      checks.push_back({path, error.what(), ""});
    }
  }
  return checks;
}

}  // namespace dashlm
