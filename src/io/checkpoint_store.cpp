#include "io/checkpoint_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace dashlm {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kManifest = "manifest.json";
constexpr const char* kPrefix = "step_";
constexpr const char* kWriting = ".writing";
constexpr const char* kReplaced = ".replaced";
constexpr const char* kRemoved = ".removed";

std::string name_of_step(int64_t step) {
  return fmt::format("{}{:08d}", kPrefix, step);
}

std::string hidden(const std::string& directory, int64_t step, const char* suffix) {
  return fmt::format("{}/.{}{}", directory, name_of_step(step), suffix);
}

// The step of "step_XXXXXXXX", or -1.
int64_t step_of(const std::string& name) {
  const std::string prefix = kPrefix;
  if (name.size() < prefix.size() + 8 || name.size() > prefix.size() + 18) return -1;
  if (name.compare(0, prefix.size(), prefix) != 0) return -1;
  int64_t step = 0;
  for (size_t i = prefix.size(); i < name.size(); ++i) {
    if (name[i] < '0' || name[i] > '9') return -1;
    step = 10 * step + (name[i] - '0');
  }
  return name == name_of_step(step) ? step : -1;
}

// The step of ".step_XXXXXXXX<anything><suffix>", or -1.
int64_t step_of_hidden(const std::string& name, const std::string& suffix) {
  const bool fits = name.size() > suffix.size() + 1 && name[0] == '.' &&
                    name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
  if (!fits) return -1;
  return step_of(name.substr(1, name.find('.', 1) - 1));
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  return names;
}

// Housekeeping must not end a run: a folder that cannot be removed stays, with a warning.
void remove_folder(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) spdlog::warn("cannot remove '{}': {}", folder, error.message());
}

// --- manifest ----------------------------------------------------------------------------------

Json list_of(const std::vector<CheckpointFile>& files) {
  Json list = Json::array();
  for (const CheckpointFile& file : files) {
    list.push_back(
        {{"name", file.name}, {"bytes", file.bytes}, {"crc32", fmt::format("{:08x}", file.crc)}});
  }
  return list;
}

std::vector<CheckpointFile> files_of(const Json& list) {
  std::vector<CheckpointFile> files;
  for (const Json& item : list) {
    const auto crc = std::stoul(item.at("crc32").get<std::string>(), nullptr, 16);
    files.push_back({item.at("name").get<std::string>(), item.at("bytes").get<int64_t>(),
                     static_cast<uint32_t>(crc)});
  }
  return files;
}

// The whole manifest, its own checksum included, is a function of the list of files. So a manifest
// is intact if and only if its list, written again, gives the same bytes.
std::string manifest_text(const std::vector<CheckpointFile>& files) {
  Json manifest = {{"format", 1}, {"files", list_of(files)}};
  const std::string body = manifest.dump();
  const uint32_t crc = crc32_of_bytes(body.data(), static_cast<int64_t>(body.size()));
  manifest["manifest_crc32"] = fmt::format("{:08x}", crc);
  return manifest.dump(1) + "\n";
}

std::vector<CheckpointFile> read_manifest(const std::string& folder) {
  const std::string path = folder + "/" + kManifest;
  const std::string text = read_text_file(path);
  std::vector<CheckpointFile> files;
  try {
    files = files_of(Json::parse(text).at("files"));
  } catch (const std::exception& e) {  // from Json, or from stoul
    fail_input("'{}' is damaged: {}", path, e.what());
  }
  require(manifest_text(files) == text, "'{}' is damaged: its checksum does not match", path);
  return files;
}

void check_size(const std::string& folder, const CheckpointFile& file) {
  const FileReader reader(folder + "/" + file.name);
  require(reader.bytes() == file.bytes, "'{}' has {} bytes, but its manifest says {}",
          reader.path(), reader.bytes(), file.bytes);
}

void check_crc(const std::string& folder, const CheckpointFile& file) {
  const std::string path = folder + "/" + file.name;
  const uint32_t crc = crc32_of_file(path);
  require(crc == file.crc, "'{}' is damaged: its CRC-32 is {:08x}, but its manifest says {:08x}",
          path, crc, file.crc);
}

// Checks the manifest and the sizes. This is cheap, and finds every result of an interruption.
std::vector<CheckpointFile> check_sizes(const std::string& folder) {
  std::vector<CheckpointFile> files = read_manifest(folder);
  for (const CheckpointFile& file : files) check_size(folder, file);
  return files;
}

bool plausible(const std::string& folder) {
  try {
    check_sizes(folder);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// --- the folder being written -------------------------------------------------------------------

// A descriptor of the folder with an exclusive lock, or -1. The lock ends with the process, however
// it ends. A process number in the name would not show that.
int lock_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  struct stat status = {};
  const bool ours = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  // A clean-up that ran between creation and lock has taken the folder away.
  if (ours && ::fstat(descriptor, &status) == 0 && status.st_nlink > 0) return descriptor;
  ::close(descriptor);
  return -1;
}

bool being_written(const std::string& folder) {
  const int lock = lock_folder(folder);
  if (lock < 0) return path_exists(folder);
  ::close(lock);
  return false;
}

}  // namespace

std::string checkpoint_files_text(const std::vector<CheckpointFile>& files) {
  return list_of(files).dump();
}

std::vector<CheckpointFile> checkpoint_files_from(const std::string& text) {
  return files_of(Json::parse(text));
}

void CheckpointPart::write(const std::string& name, const std::function<void(FileWriter&)>& body) {
  if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos || name == kManifest) {
    fail_runtime("checkpoint '{}': '{}' is not a name for one of its files", folder_, name);
  }
  FileWriter file(folder_ + "/" + name);
  body(file);
  file.commit();
  files_.push_back({name, file.bytes(), file.crc32()});
}

void CheckpointPart::write_text(const std::string& name, const std::string& text) {
  write(name,
        [&](FileWriter& file) { file.write(text.data(), static_cast<int64_t>(text.size())); });
}

CheckpointStore::CheckpointStore(std::string directory, int64_t keep)
    : directory_(std::move(directory)), keep_(keep) {
  require(keep >= 1, "checkpoints in '{}': {} are to be kept, but it must be at least 1",
          directory_, keep);
}

std::unique_ptr<CheckpointWriter> CheckpointStore::begin(int64_t step) {
  require(step >= 0, "checkpoints in '{}': there is no step {}", directory_, step);
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) fail_runtime("cannot create directory '{}': {}", directory_, error.message());
  clean_up();
  return std::unique_ptr<CheckpointWriter>(new CheckpointWriter(*this, step));
}

// Brings the directory back in order after a process that was killed.
void CheckpointStore::clean_up() const {
  for (const std::string& name : names_in(directory_)) {
    const std::string path = directory_ + "/" + name;
    if (step_of_hidden(name, kWriting) >= 0) {
      if (!being_written(path)) remove_folder(path);
    } else if (step_of_hidden(name, kRemoved) >= 0) {
      remove_folder(path);
    } else if (const int64_t step = step_of_hidden(name, kReplaced); step >= 0) {
      const std::string folder = directory_ + "/" + name_of_step(step);
      if (!path_exists(folder)) {
        if (std::rename(path.c_str(), folder.c_str()) < 0) {
          spdlog::warn("cannot rename '{}' to '{}': {}", path, folder, std::strerror(errno));
        }
      } else if (plausible(folder)) {
        remove_folder(path);
      }
    }
  }
}

std::vector<int64_t> CheckpointStore::steps() const {
  std::set<int64_t> found;
  for (const std::string& name : names_in(directory_)) {
    const int64_t step = std::max(step_of(name), step_of_hidden(name, kReplaced));
    if (step >= 0) found.insert(step);
  }
  return {found.begin(), found.end()};
}

std::string CheckpointStore::newest_sound() const {
  std::vector<int64_t> newest_first = steps();
  std::reverse(newest_first.begin(), newest_first.end());
  for (const int64_t step : newest_first) {
    for (const std::string& folder :
         {directory_ + "/" + name_of_step(step), hidden(directory_, step, kReplaced)}) {
      if (!path_exists(folder)) continue;
      try {
        verify(folder);
        return folder;
      } catch (const Error& e) {
        spdlog::warn("checkpoint '{}' is passed over: {}", folder, e.what());
      }
    }
  }
  return "";
}

void CheckpointStore::verify(const std::string& folder) {
  for (const CheckpointFile& file : check_sizes(folder)) check_crc(folder, file);
}

std::vector<FileCheck> CheckpointStore::check(const std::string& folder) {
  std::vector<FileCheck> checks;
  std::string path = folder + "/" + kManifest;
  try {
    for (const CheckpointFile& file : read_manifest(folder)) {
      path = folder + "/" + file.name;
      try {
        check_size(folder, file);
        check_crc(folder, file);
        checks.push_back({path, "", fmt::format("{} bytes", file.bytes)});
      } catch (const Error& error) {
        checks.push_back({path, error.what(), ""});
      }
    }
  } catch (const Error& error) {  // from the manifest
    checks.push_back({path, error.what(), ""});
  }
  return checks;
}

// Renames the finished hidden folder to its final name. At every moment newest_sound() finds either
// the new checkpoint or the checkpoint that it replaces.
std::string CheckpointStore::install(const std::string& folder, int64_t step) const {
  const std::string target = directory_ + "/" + name_of_step(step);
  const std::string replaced = hidden(directory_, step, kReplaced);
  const std::string removed = hidden(directory_, step, kRemoved);
  if (path_exists(target)) {
    // clean_up() leaves a replaced folder only where its successor is damaged.
    if (path_exists(removed)) remove_folder(removed);
    const std::string aside = path_exists(replaced) ? removed : replaced;
    if (std::rename(target.c_str(), aside.c_str()) < 0) {
      fail_runtime("cannot move '{}' aside: {}", target, std::strerror(errno));
    }
  }
  if (std::rename(folder.c_str(), target.c_str()) < 0) {
    const int error = errno;
    if (path_exists(replaced)) std::rename(replaced.c_str(), target.c_str());
    fail_runtime("cannot rename '{}' to '{}': {}", folder, target, std::strerror(error));
  }
  sync_directory(directory_);
  if (path_exists(replaced)) remove_folder(replaced);
  if (path_exists(removed)) remove_folder(removed);
  return target;
}

void CheckpointStore::remove_old(int64_t newest) const {
  std::vector<int64_t> older = steps();
  std::erase_if(older, [&](int64_t step) { return step >= newest; });
  std::reverse(older.begin(), older.end());
  int64_t kept = 1;
  for (const int64_t step : older) {
    const std::string folder = directory_ + "/" + name_of_step(step);
    if (kept < keep_) {
      if (plausible(folder)) ++kept;
      continue;
    }
    // It is renamed first, since a half-deleted folder must not pass for a damaged checkpoint.
    const std::string removed = hidden(directory_, step, kRemoved);
    if (path_exists(removed)) remove_folder(removed);
    if (std::rename(folder.c_str(), removed.c_str()) < 0) {
      spdlog::warn("cannot remove '{}': {}", folder, std::strerror(errno));
    } else {
      remove_folder(removed);
    }
  }
}

CheckpointWriter::CheckpointWriter(CheckpointStore& store, int64_t step)
    : store_(store), step_(step) {
  static std::atomic<uint64_t> counter{0};
  do {
    const std::string suffix = fmt::format(".{}-{}{}", ::getpid(), counter++, kWriting);
    folder_ = hidden(store_.directory_, step, suffix.c_str());
    const bool made = ::mkdir(folder_.c_str(), 0777) == 0;
    if (!made && errno != EEXIST) {
      fail_runtime("cannot create a checkpoint in '{}': {}", store_.directory_,
                   std::strerror(errno));
    }
    if (made) lock_ = lock_folder(folder_);
    if (made && lock_ < 0 && path_exists(folder_)) {
      const int error = errno;
      remove_folder(folder_);
      fail_runtime("cannot lock '{}': {}", folder_, std::strerror(error));
    }
  } while (lock_ < 0);
}

CheckpointWriter::~CheckpointWriter() {
  if (!folder_.empty()) remove_folder(folder_);
  if (lock_ >= 0) ::close(lock_);
}

void CheckpointWriter::add(const std::vector<CheckpointFile>& files) {
  for (const CheckpointFile& file : files) {
    const auto same = [&](const CheckpointFile& known) { return known.name == file.name; };
    if (std::any_of(files_.begin(), files_.end(), same)) {
      fail_runtime("checkpoint '{}': '{}' was written twice", folder_, file.name);
    }
    files_.push_back(file);
  }
}

std::string CheckpointWriter::commit() {
  if (folder_.empty()) fail_runtime("the checkpoint of step {} was committed twice", step_);
  write_text_file(folder_ + "/" + kManifest, manifest_text(files_));
  std::string target = store_.install(folder_, step_);
  folder_.clear();
  store_.remove_old(step_);
  return target;
}

}  // namespace dashlm
