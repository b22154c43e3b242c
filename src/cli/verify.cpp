// `dashlm verify`: checks that datasets, token files, checkpoints and runs are as they were
// written.
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
#include "io/file.h"
#include "train/run_check.h"

namespace dashlm {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> paths;
  int64_t vocab_size = 0;
  bool json = false;
};

// Checks all checkpoints in a folder.
std::vector<FileCheck> verify_checkpoints(const std::string& folder) {
  std::vector<FileCheck> checks;
  for (const int64_t step : CheckpointStore(folder, 1).steps()) {
    const auto more = CheckpointStore::check(fmt::format("{}/step_{:08d}", folder, step));
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

// Whether a name is not that of a token file. Any file would pass for raw tokens.
bool is_no_token_file(const std::string& path) {
  constexpr const char* kOthers[] = {".safetensors", ".model", ".json", ".jsonl", ".txt"};
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) &&
         std::ranges::any_of(kOthers, [&](const char* end) { return path.ends_with(end); });
}

// Checks a single file against the description in its dataset or checkpoint.
std::vector<FileCheck> verify_as_part(const std::string& path) {
  const std::string folder = folder_of(path);
  std::vector<FileCheck> checks;
  if (has_manifest(folder)) checks = verify_dataset(folder);
  if (path_exists(folder + "/manifest.json")) checks = CheckpointStore::check(folder);
  std::erase_if(checks, [&](const FileCheck& check) {
    return fs::path(check.path).filename() != fs::path(path).filename();
  });
  require(!checks.empty(),
          "{} holds no tokens, and no description of it lies beside it; name the folder of the "
          "dataset, checkpoint or run that it belongs to",
          path);
  return checks;
}

// Checks a run's own files, and its checkpoints.
std::vector<FileCheck> verify_run(const std::string& folder) {
  std::vector<FileCheck> checks = check_run_files(folder);
  const std::vector<FileCheck> more = verify_checkpoints(folder + "/checkpoints");
  checks.insert(checks.end(), more.begin(), more.end());
  return checks;
}

// Chooses the check by the content of the path.
std::vector<FileCheck> verify_path(const std::string& path, int64_t vocab_size) {
  if (is_no_token_file(path)) return verify_as_part(path);
  if (has_manifest(path) || is_unfinished(path)) return verify_dataset(path);
  if (path_exists(path + "/manifest.json")) return CheckpointStore::check(path);
  if (path_exists(path + "/checkpoints")) return verify_run(path);
  if (!CheckpointStore(path, 1).steps().empty()) return verify_checkpoints(path);
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
    } catch (const Error& error) {  // go on with the other paths
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
