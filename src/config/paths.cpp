#include "config/paths.h"

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "config/config.h"

namespace dashlm {
namespace fs = std::filesystem;
namespace {

bool is_utf8(const std::string& text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Removes "." and "..", unless the path would change: link/.. is not the folder of the link.
fs::path folded(const fs::path& path) {
  fs::path result;
  for (const fs::path& part : path) {
    std::error_code ignored;
    const bool root = result == result.root_path() && !result.empty();
    if (part.empty() || part == "." || (part == ".." && root)) continue;
    const bool up = part == ".." && result.has_filename() && result.filename() != ".." &&
                    !fs::is_symlink(result, ignored);
    result = up ? result.parent_path() : result / part;
  }
  return result;
}

std::string escape_pattern(const std::string& text) {
  std::string escaped;
  for (const char c : text)
    escaped += c == '*' || c == '?' || c == '[' ? fmt::format("[{}]", c) : std::string(1, c);
  return escaped;
}

}  // namespace

std::string printable(const std::string& text) {
  const bool utf8 = is_utf8(text);
  std::string shown;
  for (const char c : text) {
    const bool plain = !is_control(c) && (utf8 || static_cast<unsigned char>(c) < 0x80);
    shown += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return shown;
}

void require_utf8(const std::string& text, const std::string& what) {
  require(is_utf8(text), "{} '{}' is not valid UTF-8; rename it, or write it as UTF-8", what,
          printable(text));
}

std::string expand_home(const std::string& path, const std::string& what) {
  require_utf8(path, what);
  if (!path.starts_with('~')) return path;
  const char* home = std::getenv("HOME");
  require(path == "~" || path.starts_with("~/"),
          "{}: '{}' begins with another user's home directory, which is not looked up; write the "
          "path out (or './{}' for a file of that name)",
          what, path, path);
  require(home && *home, "{}: '{}' needs the environment variable HOME, which is not set", what,
          path);
  require_utf8(home, "the home directory");
  return home + path.substr(1);
}

std::string resolve_path(const std::string& path, const std::string& folder,
                         const std::string& what, bool pattern) {
  if (path.empty()) return "";
  const fs::path expanded = expand_home(path, what);
  std::error_code error;
  const fs::path base =
      expanded.is_absolute() ? fs::path() : fs::absolute(folder.empty() ? "." : folder, error);
  if (error) fail_input("{}: '{}' is relative to the current folder, which is gone", what, path);
  const bool escape = pattern && path.find_first_of("*?[") != std::string::npos;
  const fs::path folder_part = escape ? fs::path(escape_pattern(base.string())) : base;
  const std::string result = folded(folder_part / expanded).string();
  require_utf8(result, what + ": the path");
  return result;
}

}  // namespace dashlm
