// `dashlm verify`: checks that datasets, token files, checkpoints and runs are as they were
// written.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report.h"
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

bool is_sound(const FileCheck& check) {
  return check.problem.empty();
}

struct VerifyReport {
  std::vector<FileCheck> files;

  int64_t bad() const { return std::ssize(files) - std::ranges::count_if(files, is_sound); }
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

std::string text_of(const VerifyReport& report) {
  std::string text;
  for (const FileCheck& check : report.files) {
    text += is_sound(check) ? fmt::format("ok   {}: {}\n", check.path, check.content)
                            : fmt::format("BAD  {}\n", check.problem);
  }
  return text + fmt::format("{} checked, {} bad\n", report.files.size(), report.bad());
}

Json json_of(const VerifyReport& report) {
  Json files = Json::array();
  for (const FileCheck& check : report.files) {
    const bool sound = is_sound(check);
    files.push_back({{"path", check.path},
                     {"ok", sound},
                     {sound ? "content" : "problem", sound ? check.content : check.problem}});
  }
  return {{"ok", report.bad() == 0}, {"bad", report.bad()}, {"files", files}};
}

int verify(const Options& options) {
  VerifyReport report;
  for (const std::string& path : options.paths) {
    try {
      const auto more = verify_path(path, options.vocab_size);
      report.files.insert(report.files.end(), more.begin(), more.end());
    } catch (const Error& error) {  // go on with the other paths
      report.files.push_back({path, error.what(), ""});
    }
  }
  print_report(report, options.json, /*indent=*/1);
  return report.bad() > 0 ? static_cast<int>(ExitCode::bad_input) : 0;
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
  add_json_option(*command, options->json);
  command->callback([options, &exit_code] { exit_code = verify(*options); });
}

}  // namespace dashlm
