#include "data/paths.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"

namespace dashlm {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> matches(const std::string& pattern, const std::string& what) {
  glob_t found = {};
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::erase_if(paths, [](const std::string& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
  });
  if (result != 0 && result != GLOB_NOMATCH) {
    fail_input("cannot read the directories of pattern {} for {}", pattern, what);
  }
  require(!paths.empty(), "pattern {} matches no {}; check the path", pattern, what);
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> files_in(const std::string& directory,
                                  const std::function<bool(const std::string&)>& accept,
                                  const std::string& what) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (name.front() != '.' && accept(name) && it->is_regular_file(ignored)) {
      files.push_back(it->path().string());
    }
  }
  require(!error, "cannot read directory {}: {}", directory, error.message());
  require(!files.empty(), "directory {} holds no {}", directory, what);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string base_name(const std::string& path) {
  return fs::path(path).filename().string();
}

std::vector<std::string> expand_paths(const std::vector<std::string>& paths,
                                      const std::function<bool(const std::string&)>& accept,
                                      const std::string& what) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    require(!path.empty(), "a path is empty (looking for {}); name a file, a folder or a pattern",
            what);
    const bool literal = fs::exists(path, ignored);
    const bool pattern = !literal && path.find_first_of("*?[") != std::string::npos;
    require(literal || pattern, "{} does not exist (looking for {})", path, what);
    std::vector<std::string> found = {path};
    if (pattern) found = matches(path, what);
    if (fs::is_directory(path, ignored)) found = files_in(path, accept, what);
    files.insert(files.end(), found.begin(), found.end());
  }
  std::set<std::string> seen;
  for (const std::string& file : files) {
    std::error_code ignored;
    const fs::path canonical = fs::canonical(file, ignored);
    require(seen.insert(canonical.empty() ? file : canonical.string()).second,
            "{} is named twice among the {}; name it once", file, what);
  }
  return files;
}

}  // namespace dashlm
