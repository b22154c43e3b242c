// `dashlm verify`: whether datasets, token files, checkpoints and runs are as they were written.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "data/dataset_folder.h"
#include "data/verify.h"
#include "io/checkpoint_store.h"

namespace dashlm {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> paths;
  int64_t vocab_size = 0;
  bool json = false;
};

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Of all checkpoints in a folder.
std::vector<FileCheck> verify_checkpoints(const std::string& folder) {
  std::vector<FileCheck> checks;
  for (const int64_t step : CheckpointStore(folder, 1).steps()) {
    const auto more = CheckpointStore::check(fmt::format("{}/step_{:08d}", folder, step));
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

// By what lies at the path.
std::vector<FileCheck> verify_path(const std::string& path, int64_t vocab_size) {
  if (has_manifest(path) || is_unfinished(path)) return verify_dataset(path);
  if (is_there(path + "/manifest.json")) return CheckpointStore::check(path);
  for (const std::string& folder : {path + "/checkpoints", path}) {
    if (!CheckpointStore(folder, 1).steps().empty()) return verify_checkpoints(folder);
  }
  require(!is_there(path + "/checkpoints"), "{} is a run without a checkpoint, so far", path);
  return verify_token_files({path}, vocab_size);
}

void print(const std::vector<FileCheck>& checks, int64_t bad) {
  for (const FileCheck& check : checks) {
    const bool sound = check.problem.empty();
    std::cout << (sound ? fmt::format("ok   {}: {}", check.path, check.content)
                        : fmt::format("BAD  {}", check.problem))
              << "\n";
  }
  std::cout << fmt::format("{} checked, {} bad\n", checks.size(), bad);
}

void print_json(const std::vector<FileCheck>& checks, int64_t bad) {
  Json files = Json::array();
  for (const FileCheck& check : checks) {
    const bool sound = check.problem.empty();
    files.push_back({{"path", check.path},
                     {"ok", sound},
                     {sound ? "content" : "problem", sound ? check.content : check.problem}});
  }
  std::cout << Json{{"ok", bad == 0}, {"bad", bad}, {"files", files}}.dump(1) << "\n";
}

int verify(const Options& options) {
  std::vector<FileCheck> checks;
  for (const std::string& path : options.paths) {
    try {
      const auto more = verify_path(path, options.vocab_size);
      checks.insert(checks.end(), more.begin(), more.end());
    } catch (const Error& error) {  // the other paths are worth looking at all the same
      checks.push_back({path, error.what(), ""});
    }
  }
  const auto bad = std::count_if(checks.begin(), checks.end(),
                                 [](const FileCheck& check) { return !check.problem.empty(); });
  (options.json ? print_json : print)(checks, bad);
  return bad > 0 ? static_cast<int>(ExitCode::bad_input) : 0;
}

}  // namespace

void add_verify_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "verify", "read datasets, token files, runs or checkpoints whole; exit code 1 if one is bad");
  command
      ->add_option("PATH", options->paths,
                   "dataset, run or checkpoint folders; token files or patterns")
      ->required();
  command
      ->add_option("--vocab-size", options->vocab_size,
                   "of token files that do not say it: every token must be below")
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &exit_code] { exit_code = verify(*options); });
}

}  // namespace dashlm
